"use strict";
// Pages from files have no server. Requests go to the engine instead: Lockproof itself, compiled to WebAssembly, in a
// worker of the page. It is loaded on demand.
window.engine = (() => {
  const root = new URL(document.body.dataset.root || "./", location.href);
  const waiting = new Map(); // requests by number
  let started = null, worker = null, number = 0;

  const load = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("assets/" + name, root).href;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`assets/${name} is not there`));
    document.head.append(script);
  });

  // A page from a file may load scripts, but not fetch.
  const module = async () => {
    if (location.protocol === "file:") {
      await load("module.js");
      const text = atob(self.lockproofModule);
      delete self.lockproofModule;
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
      return bytes;
    }
    const answer = await fetch(new URL("assets/engine.wasm.gz", root));
    if (!answer.ok) throw new Error("assets/engine.wasm.gz is not there");
    return new Uint8Array(await answer.arrayBuffer());
  };

  const end = (why) => {
    if (worker) worker.terminate();
    worker = started = null;
    for (const [, asked] of waiting) asked.reject(new Error(why));
    waiting.clear();
  };

  const start = () => started || (started = (async () => {
    const [bytes] = await Promise.all([module(), load("worker.js")]);
    const source = URL.createObjectURL(new Blob([self.lockproofWorker], { type: "text/javascript" }));
    const own = new Worker(source);
    own.onmessage = ({ data }) => {
      const asked = waiting.get(data.number);
      if (data.died) end(data.died);
      else if (asked) {
        waiting.delete(data.number);
        asked.resolve(data);
      }
    };
    own.onerror = (e) => { e.preventDefault(); end(e.message || "the engine cannot be started"); };
    own.postMessage({ bytes }, [bytes.buffer]);
    worker = own;
  })().catch((e) => { started = null; throw e; }));

  return {
    start,
    stop: () => end("stopped"),
    // The path of an address, relative to the site's root.
    path: (address) => new URL(address, location.href).pathname.slice(root.pathname.length),
    // Requests a page: its status and its text.
    ask: async (path, form, posted) => {
      await start();
      return new Promise((resolve, reject) => {
        const own = ++number;
        waiting.set(own, { resolve, reject });
        worker.postMessage({ number: own, path, form: new URLSearchParams(form).toString(), posted });
      });
    },
  };
})();
