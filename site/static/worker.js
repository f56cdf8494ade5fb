"use strict";
// The worker of the engine receives the module first, and then requests.
(() => {
  let answer = null; // set by the Go program when it runs
  const early = [];

  // Go's support code warns of timers that fired while it was busy, and handles them.
  const { warn } = console;
  console.warn = (...said) => { if (!String(said[0]).includes("missed timeout event")) warn(...said); };

  const unpacked = (bytes) => {
    const packed = bytes[0] === 0x1f && bytes[1] === 0x8b; // a server may have unpacked it
    const stream = new Blob([bytes]).stream();
    return new Response(packed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream, { headers: { "Content-Type": "application/wasm" } });
  };

  const run = async (bytes) => {
    const go = new Go();
    const { instance } = await WebAssembly.instantiateStreaming(unpacked(bytes), go.importObject);
    self.lockproofReady = (of) => {
      answer = of;
      for (const request of early) ask(request);
    };
    await go.run(instance);
    throw new Error("the engine has ended");
  };

  const ask = ({ number, path, form, posted }) => answer(path, form, Boolean(posted),
    (status, type, text) => postMessage({ number, status, type, text }));

  self.onmessage = ({ data }) => {
    if (data.bytes) run(data.bytes).catch((e) => postMessage({ died: e.message }));
    else if (answer) ask(data);
    else early.push(data);
  };
})();
