"use strict";
// All plays were computed in advance: the page contains the first of each tab, a script the others. A play moves from
// beat to beat; p is the number of past beats.
(() => {
  const byId = (id) => document.getElementById(id);
  const root = byId("front"), lanes = root.querySelector(".lanes"), messages = root.querySelector(".messages");
  const find = (name) => root.querySelector(`.scene [data-name="${name}"]`);
  const tell = byId("caption"), moment = byId("moment"), quantity = byId("quantity"), strip = byId("strip"), verdict = byId("verdict"), moral = byId("moral");
  const button = root.querySelector("[data-do=play]");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const beat = 2600, travel = 0.4; // milliseconds; fraction of a beat in which messages travel
  let tabs = JSON.parse(byId("plays").textContent), tab = tabs[0], play = tab.plays[0], p = 0, playing = false, said = "", ended = false;

  const make = (name, attributes, text) => {
    const el = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) el.setAttribute(key, attributes[key]);
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const last = () => play.beats.length - 1;
  const seconds = (x) => `${Math.round(x * 10) / 10} s`;

  // The index of a time among the beats; for several beats at one time the last, or the first.
  const placed = (t, first) => {
    const at = [...play.beats.map((b) => b.at), play.end];
    const i = first ? at.findIndex((a) => a >= t) - 1 : at.findLastIndex((a) => a <= t);
    if (i < 0) return 0;
    if (i + 1 >= at.length) return at.length - 1;
    return i + (at[i + 1] > at[i] ? Math.min((t - at[i]) / (at[i + 1] - at[i]), 1) : 1);
  };
  const left = 64, wide = 648;
  const x = (place) => left + (place / (last() + 1)) * wide;

  const drawLanes = () => {
    lanes.replaceChildren();
    play.lanes.forEach((lane, i) => {
      const y = 4 + i * 19 + (i > 1 ? 6 : 0);
      lanes.append(make("text", { x: 8, y: y + 9 }, lane.name));
      for (const s of lane.stretches || []) {
        const from = x(placed(s.from)), width = Math.max(x(placed(s.until, true)) - from, 2), state = s.state === "holding" ? lane.name : s.state;
        lanes.append(make("rect", { class: `bar ${state}`, x: from, y, rx: 3, height: 15, width }));
        if (state === "asleep" && width > 190) lanes.append(make("text", { class: "sleeps", x: from + 6, y: y + 9 }, "asleep (a GC pause)"));
      }
    });
    play.beats.forEach((b, k) => {
      for (const m of b.messages || []) if (m.to === "store" && m.kind !== "read")
        lanes.append(make("text", { class: "writes", x: x(k) + 5, y: m.from === "c1" ? 13 : 32 }, "writes"));
    });
    const bad = play.beats.findIndex((b) => b.bad);
    if (bad >= 0) {
      lanes.append(make("rect", { class: "red", x: x(bad), y: 0, height: 160, width: left + wide - x(bad) }));
      lanes.append(make("text", { class: "red-text", x: x(bad) - 4, y: 152, "text-anchor": "end" }, "c2’s payment is lost"));
    }
    lanes.append(make("rect", { class: "veil", y: -1, height: 162 }), make("line", { class: "cursor", y1: 0, y2: 160 }));
  };

  // The state of a process at a beat.
  const states = (name, at) => {
    const lane = play.lanes.find((l) => l.name === name);
    return ((lane && lane.stretches) || []).filter((s) => s.from <= at && at < s.until).map((s) => s.state);
  };

  const drawScene = (k) => {
    const at = k < 0 ? -1 : play.beats[k].at;
    for (const c of ["c1", "c2"]) {
      const now = states(c, at), asleep = play.beats.slice(0, k + 1).findLast((b) => b.text.startsWith(c + " falls") || b.text.startsWith(c + " wakes"));
      const sleeps = Boolean(asleep && asleep.text.startsWith(c + " falls")), holds = now.includes("holding");
      find(c).setAttribute("class", `client ${c}${holds ? " holds" : ""}${sleeps ? " asleep" : ""}`);
      find(c).querySelector(".state").textContent = sleeps ? "asleep …" : holds ? "has the lock" : now.includes("asking") && k > 0 ? "waits" : "";
    }
    for (const g of root.querySelectorAll(".scene .node")) {
      const now = states(g.dataset.name, at).pop() || "";
      g.setAttribute("class", `node ${now === "down" ? "down" : now && `of-${now}`}`);
      g.querySelector(".state").textContent = now === "down" ? "down" : now ? `${now}’s key` : "free";
    }
    const writes = play.beats.slice(0, k + 1).flatMap((b) => b.messages || []).filter((m) => m.kind === "write" || m.kind === "lost");
    const top = writes[writes.length - 1], lost = top && top.kind === "lost" ? writes[writes.length - 2] : null;
    const store = find("store");
    store.setAttribute("class", `store${lost ? " lost" : top ? ` of-${top.from}` : ""}`);
    const all = lost || !top ? [] : [...new Set(writes.map((m) => m.from))];
    store.querySelector(".state").textContent = lost ? `${top.from}’s payment` : all.length ? `${all.join(" and ")} paid` : "empty";
    store.querySelector(".gone").textContent = lost ? `${lost.from}’s payment` : "";
  };

  const place = (name) => {
    const m = /translate\(([\d.]+) ([\d.]+)\)/.exec(find(name).getAttribute("transform"));
    return [Number(m[1]), Number(m[2])];
  };
  // The path of a message. To and from the store it passes over or under the servers; with edge it ends at the store's edge.
  const route = (from, to, edge) => {
    const stops = [place(from), place(to)];
    if (from === "store" || to === "store") {
      const y = from === "c1" || to === "c1" ? 9 : 247, around = [[264, y], [436, y], [510, 128]];
      stops.splice(1, 0, ...(from === "store" ? around.reverse() : around));
      if (edge) stops[stops.length - 1] = [edge, 128];
    }
    return `M${stops.join("L")}`;
  };
  const signs = { ask: "?", yes: "✓", no: "✗", read: "", write: "", lost: "!" };
  const drawMessages = (k, part) => {
    messages.replaceChildren();
    const sent = (play.beats[k] && play.beats[k].messages) || [];
    const answered = sent.some((m) => m.kind === "yes" || m.kind === "no" || m.from === "store");
    for (const m of sent) {
      const back = m.kind === "yes" || m.kind === "no" || m.from === "store";
      const f = answered ? part * 2 - (back ? 1 : 0) : part;
      if (f >= 1 && m.kind === "lost") // the late write stays visible
        messages.append(make("path", { class: "late", d: `${route(m.from, m.to, 554)}m-10 -7 10 7-10 7` }));
      if (f <= 0 || f >= 1) continue;
      const way = make("path", { class: "way", d: route(m.from, m.to) });
      messages.append(way);
      const at = way.getPointAtLength(way.getTotalLength() * f);
      const g = make("g", { class: m.kind, transform: `translate(${at.x} ${at.y})` });
      g.append(make("circle", { r: 9 }), make("text", {}, signs[m.kind]));
      messages.append(g);
    }
  };

  let shown = -1;
  const draw = () => {
    const k = Math.min(Math.floor(p), last()), f = p - k;
    const coming = playing && k < last() && f > 1 - travel; // messages arrive with the beat that describes them
    drawScene(k);
    drawMessages(coming ? k + 1 : k, coming ? 1 - (1 - f) / travel : 1);
    if (shown !== k) {
      tell.textContent = play.beats[k].text;
      tell.classList.toggle("bad", Boolean(play.beats[k].bad));
      moment.setAttribute("aria-valuetext", `${k + 1} of ${last() + 1}: ${play.beats[k].text}`);
      shown = k;
    }
    moment.value = p;
    const at = x(Math.min(p + (playing ? 0 : 0.001), last() + 1));
    const veil = lanes.querySelector(".veil"), hides = !ended;
    veil.setAttribute("x", at);
    veil.setAttribute("width", hides ? 721 - at : 0);
    const cursor = lanes.querySelector(".cursor");
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    const red = lanes.querySelector(".red-text");
    if (red) red.classList.toggle("off", hides && !play.beats[k].bad);
    if (k === last()) end();
  };

  const end = () => {
    ended = true;
    strip.hidden = false;
    moral.classList.toggle("untold", !play.lost);
    const right = said === (play.lost ? "no" : "yes");
    verdict.className = play.lost ? "bad" : "good";
    verdict.textContent = (play.lost ? "✗ c2’s payment is lost." : "✓ It survives.") + (said ? (right ? " You saw it coming." : " You said otherwise.") : "");
  };

  const pause = () => {
    playing = false;
    button.textContent = "Play";
    tell.setAttribute("aria-live", "polite");
  };
  const start = () => {
    if (p >= last()) p = 0;
    playing = true;
    button.textContent = "Pause";
    tell.setAttribute("aria-live", "off"); // a screen reader need not announce each sentence
    let before = performance.now();
    const frame = (now) => {
      if (!playing) return;
      p = Math.min(p + Math.max(now - before, 0) / beat, last() + 0.999);
      before = now;
      draw();
      if (p > last() + 0.99) return pause();
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };
  const step = (by) => {
    pause();
    p = Math.min(Math.max(Math.floor(p) + by, 0), last());
    draw();
  };

  const show = (index) => {
    play = tab.plays[index];
    shown = -1;
    p = 0;
    moment.max = last() + 0.999;
    byId("value").textContent = seconds(play.value);
    strip.querySelectorAll("span").forEach((cell, i) => cell.classList.toggle("now", i === index));
    drawLanes();
    draw();
  };
  const choose = (id, value) => {
    pause();
    tab = tabs.find((t) => t.id === id) || tabs[0];
    for (const b of root.querySelectorAll("[data-tab]")) b.setAttribute("aria-pressed", b.dataset.tab === tab.id);
    const all = tab.plays, index = Math.max(value === undefined ? Math.min(tab.start, all.length - 1) : all.findIndex((q) => q.value === value), 0);
    byId("of").textContent = tab.quantity;
    Object.assign(quantity, { min: 0, max: all.length - 1, step: 1, value: index, disabled: all.length < 2 });
    strip.replaceChildren(...all.map((q) => Object.assign(document.createElement("span"), { className: q.lost ? "lost" : "", title: `${seconds(q.value)}: ${q.lost ? "lost" : "survives"}` })));
    strip.hidden = true;
    moral.firstChild.textContent = `${tab.lesson} `;
    moral.classList.add("untold");
    const lost = all.filter((q) => q.lost).map((q) => q.value);
    if (lost.length) strip.setAttribute("aria-label", `Lost from ${seconds(Math.min(...lost))} to ${seconds(Math.max(...lost))}, else it survives`);
    strip.setAttribute("role", "img");
    byId("lab").href = `lab/${tab.lab}.html`;
    root.querySelector("[data-do=link]").textContent = "Copy link";
    ended = false;
    verdict.textContent = said = "";
    for (const b of root.querySelectorAll("[data-answer]")) b.setAttribute("aria-pressed", "false");
    show(index);
  };

  for (const b of root.querySelectorAll("[data-tab]")) b.addEventListener("click", () => {
    choose(b.dataset.tab);
    if (!still.matches) start();
  });
  for (const b of root.querySelectorAll("[data-answer]")) b.addEventListener("click", () => {
    said = b.dataset.answer;
    for (const o of root.querySelectorAll("[data-answer]")) o.setAttribute("aria-pressed", o === b);
    if (ended) end();
    else if (!playing && !still.matches) start();
  });
  const act = {
    play: () => (playing ? pause() : still.matches ? step(p >= last() ? -last() : 1) : start()),
    back: () => step(-1), on: () => step(1),
    link: async (b) => {
      const url = new URL(location.href);
      url.hash = `${tab.id}=${play.value}`;
      history.replaceState(null, "", url);
      try { await navigator.clipboard.writeText(url.href); b.textContent = "Copied"; } catch { b.textContent = "The address has it"; }
    },
    save: () => {
      const style = [...document.styleSheets].flatMap((s) => { try { return [...s.cssRules]; } catch { return []; } }).map((r) => r.cssText).join("\n");
      const whole = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: "0 0 720 475", width: 1080, height: 712, class: "front" });
      const scene = root.querySelector(".scene").cloneNode(true), chart = lanes.cloneNode(true);
      for (const [el, y, h] of [[scene, 0, 256], [chart, 312, 160]]) for (const [a, v] of [["y", y], ["width", 720], ["height", h]]) el.setAttribute(a, v);
      const text = make("foreignObject", { x: 8, y: 258, width: 704, height: 50 });
      text.append(Object.assign(document.createElement("p"), { textContent: tell.textContent, style: "font:15px sans-serif;margin:6px;color:var(--ink)" }));
      const defs = document.querySelector("svg.defs");
      whole.append(make("style", {}, style), defs ? defs.cloneNode(true) : "", make("rect", { width: "100%", height: "100%", style: "fill:var(--page)" }), scene, text, chart);
      const file = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(whole)], { type: "image/svg+xml" }));
      Object.assign(document.createElement("a"), { href: file, download: `lockproof-${tab.id}-${play.value}.svg` }).click();
      URL.revokeObjectURL(file);
    },
  };
  for (const b of root.querySelectorAll("[data-do]")) b.addEventListener("click", () => act[b.dataset.do](b));
  moment.addEventListener("input", () => { pause(); p = Number(moment.value); draw(); });
  quantity.addEventListener("input", () => {
    pause();
    show(Number(quantity.value));
    if (ended) { p = last(); draw(); } // compare with the known end
  });
  const scrub = (e) => {
    const box = lanes.getBoundingClientRect(), at = ((e.clientX - box.x) / box.width) * 720;
    pause();
    p = Math.min(Math.max(((at - left) / wide) * (last() + 1), 0), last() + 0.999);
    draw();
  };
  lanes.addEventListener("pointerdown", (e) => { lanes.setPointerCapture(e.pointerId); scrub(e); });
  lanes.addEventListener("pointermove", (e) => { if (lanes.hasPointerCapture(e.pointerId)) scrub(e); });

  const linked = /^#(\w+)=([\d.]+)$/.exec(location.hash);
  choose(linked ? linked[1] : tabs[0].id);
  if (!still.matches && !linked) start();
  // The other values are loaded after the first frame.
  const script = Object.assign(document.createElement("script"), { src: "assets/plays.js" });
  script.onload = () => {
    const [was, at, run, answer, done] = [tab.id, p, playing, said, ended];
    tabs = self.lockproofPlays;
    choose(was, linked ? Number(linked[2]) : play.value);
    [p, said, ended] = [at, answer, done];
    for (const b of root.querySelectorAll("[data-answer]")) b.setAttribute("aria-pressed", b.dataset.answer === said);
    draw();
    if (run) start();
  };
  addEventListener("load", () => document.head.append(script));
})();
