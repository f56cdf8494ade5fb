"use strict";
// With a server, the lab works without this script: each run is a page. The script shows a run on the open page, makes
// controls draggable and unfolds the story on the timeline.
(async () => {
  if (!document.getElementById("experiment")) return;
  const byId = (id) => document.getElementById(id);
  const whole = 12000; // milliseconds from end to end, at speed 1
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  // A player moves the curtain of the first picture.
  class Player {
    constructor(outcome) {
      this.outcome = outcome;
      this.timeline = window.timelineOf(outcome.querySelector(".timeline"));
      this.tools = outcome.querySelector(".player");
      this.tools.hidden = false;
      const { figure } = this.timeline; // the player's buttons replace the picture's own
      for (const b of figure.querySelectorAll("[data-do=back], [data-do=on]")) b.remove();
      figure.querySelector(".tools").prepend(this.tools);
      // The result is below the picture, which must not move when the result appears.
      figure.querySelector(".picture").after(outcome.querySelector(".told"), ...[outcome.querySelector(".account > .what")].filter(Boolean));
      this.speed = this.tools.querySelector("select");
      this.button = this.tools.querySelector("[data-play=play]");
      const act = { start: () => this.begin(), back: () => this.step(-1), play: () => this.toggle(), on: () => this.step(1), end: () => this.reveal() };
      for (const b of this.tools.querySelectorAll("button")) b.addEventListener("click", act[b.dataset.play]);
      const plot = outcome.querySelector(".plot");
      plot.addEventListener("keydown", (e) => {
        if (e.key !== " ") return;
        e.preventDefault();
        this.toggle();
      });
      // The curtain follows the timeline's own keys and buttons.
      this.timeline.figure.addEventListener("step", (e) => { if (this.folded && !this.timer) this.draw(e.detail.a); });
      if (!outcome.classList.contains("guessed")) return;
      this.begin();
      if (still.matches) this.step(1); // with reduced motion the reader steps by hand from the first turn
      else this.toggle();
    }

    get last() { return this.timeline.turns.length - 1; }

    begin() {
      this.pause();
      this.folded = true;
      this.outcome.classList.add("unfolding");
      this.timeline.reset();
      this.draw(0);
    }

    draw(time) {
      this.now = time;
      this.timeline.unfold(time);
    }

    // Moves to the next or previous turn of the story, and to the end after the last one.
    step(by) {
      this.pause();
      if (!this.folded) return this.begin();
      const times = this.timeline.marks.map((m) => Number(m.dataset.a)).filter((a) => (by > 0 ? a > this.now : a < this.now));
      if (!times.length) return by > 0 ? this.reveal() : this.begin();
      const time = by > 0 ? Math.min(...times) : Math.max(...times);
      this.timeline.go(Math.max(this.timeline.turns.findLastIndex((e) => e.a <= time), 0));
      this.draw(time);
    }

    toggle() {
      if (this.timer) return this.pause();
      if (!this.folded || this.timeline.step >= this.last) this.begin();
      this.button.textContent = "Pause";
      this.timeline.readout.setAttribute("aria-live", "off"); // a screen reader need not announce each turn
      this.tick(performance.now());
    }

    // The curtain moves at constant speed; with reduced motion it moves from turn to turn.
    tick(before) {
      const next = still.matches ? () => setTimeout(() => frame(performance.now()), 900 / this.speed.value) : () => requestAnimationFrame(frame);
      const frame = (time) => {
        if (!this.timer) return;
        const { turns } = this.timeline;
        let step = this.timeline.step, now = this.now;
        if (still.matches) now = turns[Math.min(step + 1, this.last)].a;
        else now = this.timeline.time(this.timeline.part(now) + ((time - before) / whole) * this.speed.value);
        before = time;
        if (still.matches) step = Math.min(step + 1, this.last);
        else while (step < this.last && turns[step + 1].a <= now) step++;
        if (step !== this.timeline.step) this.timeline.go(step);
        this.draw(now);
        if (step >= this.last && (still.matches || this.timeline.part(now) >= 1)) return this.reveal();
        next();
      };
      this.timer = true;
      next();
    }

    pause() {
      this.timer = false;
      this.button.textContent = "Play";
      this.timeline.readout.setAttribute("aria-live", "polite");
    }

    reveal() {
      this.pause();
      this.folded = false;
      this.outcome.classList.remove("unfolding");
      this.timeline.unfold();
      this.timeline.go(this.last); // the last caption
      if (this.outcome.contains(document.activeElement)) this.outcome.querySelector(".told").focus({ preventScroll: true });
    }
  }

  const play = () => {
    const outcome = byId("outcome");
    for (const figure of outcome.querySelectorAll(".timeline")) window.timelineOf(figure);
    for (const name of outcome.querySelectorAll(".lane-name.client, .lane-name.node")) {
      name.ownerSVGElement.removeAttribute("aria-hidden");
      for (const [a, v] of Object.entries({ tabindex: 0, role: "button", "aria-label": `Break ${name.firstChild.textContent}` })) name.setAttribute(a, v);
    }
    if (outcome.querySelector(".timeline .mark")) new Player(outcome);
    else outcome.classList.remove("unfolding");
  };

  // The parts of the page that depend on a run.
  const swap = (page, ids) => {
    for (const id of ids) {
      const fresh = page.getElementById(id);
      if (fresh) byId(id).replaceWith(fresh);
    }
  };

  const { engine } = window; // only for pages from files
  const busy = (text) => { byId("busy").textContent = text; };

  // Requests a page from the server or the engine.
  let loaded = !engine;
  const ask = async (action, data, posted = true) => {
    const doing = action.endsWith("/boundary") ? "Running it at about forty values …" : "Running it …";
    const slow = setTimeout(() => busy(loaded ? doing : "Loading the engine, about 6 MB …"), 300);
    if (engine) engine.start().then(() => {
      loaded = true;
      if (byId("busy").textContent) busy(doing);
    }, () => {}); // errors show below
    try {
      if (engine) {
        const { status, text } = await engine.ask(engine.path(action), data, posted);
        return { ok: status < 300, text };
      }
      const answer = await fetch(action, { method: "POST", body: new URLSearchParams(data) });
      return { ok: answer.ok, text: await answer.text() };
    } finally {
      clearTimeout(slow);
      busy("");
    }
  };
  const unreachable = (e) => (engine ? `The engine failed: ${e.message}.`
    : `The server cannot be reached (${e.message}). Is lockproof serve still running?`);
  const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

  // A page from a file has the catalogue's controls; its address may contain others.
  if (engine) {
    engine.start().catch(() => {}); // errors show when a run needs it
    if (location.search) {
      try {
        swap(parsed((await ask(location.href.split(/[?#]/)[0], location.search, false)).text), ["schedule", "experiment"]);
      } catch (e) {
        byId("problem").textContent = unreachable(e);
      }
    }
  }
  const form = byId("experiment");

  const asked = {}; // number of the latest request for each part
  const run = async (action, data, parts, predicted) => {
    const own = (asked[parts[0]] = (asked[parts[0]] || 0) + 1);
    form.setAttribute("aria-busy", "true");
    try {
      const answer = await ask(action, data);
      const page = parsed(answer.text);
      if (own !== asked[parts[0]]) return; // there is a later request
      if (!page.getElementById("experiment")) throw new Error("the server sent another page than the lab");
      swap(page, answer.ok ? ["problem", ...parts] : ["problem"]);
      for (const radio of form.querySelectorAll("[type=radio]")) radio.required = false;
      if (answer.ok && parts.includes("outcome")) {
        play();
        if (predicted) byId("outcome").querySelector("h2").focus();
      }
    } catch (e) {
      byId("problem").textContent = unreachable(e);
    }
    form.removeAttribute("aria-busy");
  };

  // Without a server there is no file of the history yet.
  addEventListener("click", async (e) => {
    const link = e.target.closest("a.record");
    if (!link || !engine) return;
    e.preventDefault();
    const [path, query] = link.href.split("?");
    const answer = await ask(path, query || "", false);
    const file = URL.createObjectURL(new Blob([answer.text], { type: "application/jsonl" }));
    Object.assign(document.createElement("a"), { href: file, download: path.split("/").pop() }).click();
    URL.revokeObjectURL(file);
  });

  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const data = new FormData(form, e.submitter);
    const boundary = e.submitter && e.submitter.formAction.endsWith("/boundary");
    if (boundary) return run(e.submitter.formAction, data, ["boundary"]);
    clearTimeout(soon);
    byId("boundary").replaceChildren();
    run(form.action, data, ["schedule", "outcome"], true);
  });

  // A changed control runs the experiment again without a prediction, and compares the verdict with the previous one.
  let soon = 0;
  const turned = (e) => {
    if (e.target.id === "variant") {
      location.assign(`${location.pathname}?variant=${encodeURIComponent(e.target.value)}`);
      return;
    }
    if (e.target.id === "at-once" || e.target.type === "radio" || !byId("outcome").querySelector("[data-verdict]") || !byId("at-once").checked) return;
    clearTimeout(soon);
    byId("boundary").replaceChildren();
    soon = setTimeout(() => {
      for (const radio of form.querySelectorAll("[type=radio]")) radio.checked = false;
      if (form.checkValidity()) run(form.action, new FormData(form), ["schedule", "outcome"]);
      else form.reportValidity();
    }, 150);
  };
  form.addEventListener("input", turned);
  document.querySelector(".at-once").hidden = false;

  // A click on a client or node in the picture adds a fault to it. The new step is part of the address, a link.
  const breaking = byId("break");
  if (breaking) {
    breaking.hidden = false;
    const [who, what, when] = breaking.querySelectorAll("select");
    const reload = (change) => {
      const link = document.querySelector(".link-to a"), url = new URL(link ? link.href : location.href);
      change(url.searchParams);
      location.assign(url);
    };
    breaking.querySelector("button").addEventListener("click", () => reload((q) => q.append("fault", `${when.value} ${what.value} ${who.value}`)));
    form.addEventListener("change", (e) => {
      if (e.target.name === "fault") reload((q) => q.delete("fault", e.target.value));
    });
    const chosen = (e) => {
      const name = e.target.closest(".lane-name[role=button]");
      if (!name || (e.key && e.key !== "Enter" && e.key !== " ")) return;
      e.preventDefault();
      who.value = name.firstChild.textContent;
      what.focus();
      breaking.scrollIntoView({ block: "nearest" });
    };
    addEventListener("click", chosen);
    addEventListener("keydown", chosen);
  }

  // Each number gets a slider.
  for (const number of form.querySelectorAll("[type=number]:not(#seed)")) {
    const slider = Object.assign(document.createElement("input"), { type: "range", min: number.min, max: number.max, step: number.step, value: number.value });
    slider.setAttribute("aria-label", form.querySelector(`label[for="${number.id}"]`).textContent + ", slider");
    slider.addEventListener("input", () => { number.value = slider.value; });
    number.addEventListener("input", () => { slider.value = number.value; });
    number.after(slider);
  }
  play();
})();
