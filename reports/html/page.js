"use strict";
// The page is complete without this script, which adds a theme switch, a filter for the table, and pictures that zoom,
// pan and step through the story.
(() => {
  const root = document.documentElement;
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // A page from a file may have no storage: then the choice lasts until it closes.
  const remember = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
    set(v) { try { localStorage.setItem("theme", v); } catch { /* not kept */ } } };
  const themes = ["system", "light", "dark"];
  const button = document.querySelector(".theme");
  const setTheme = (name) => {
    if (name === "system") delete root.dataset.theme; else root.dataset.theme = name;
    button.querySelector("span").textContent = name;
  };
  let theme = themes.includes(remember.get()) ? remember.get() : "system";
  setTheme(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
    remember.set(theme);
  });

  const filter = document.querySelector(".filter");
  if (filter) {
    const rows = all(".verdicts tbody tr");
    filter.hidden = rows.length < 8;
    filter.querySelector("input[type=search]").addEventListener("input", (e) => {
      const words = e.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((w) => text.includes(w));
        if (!row.hidden) shown++;
      }
      filter.querySelector("output").textContent = words.length ? `${shown} of ${rows.length}` : "";
    });
  }

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const showTip = (text, box) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(Math.max(8, box.x + scrollX), scrollX + innerWidth - tip.offsetWidth - 16);
    const above = box.y + scrollY - tip.offsetHeight - 8;
    tip.style.left = left + "px";
    tip.style.top = (above > scrollY ? above : box.y + box.height + scrollY + 8) + "px";
  };

  const moment = (ns) => (ns < 1e9 ? (ns / 1e6).toFixed(3) + " ms" : (ns / 1e9).toFixed(6) + " s");
  const roundStep = (least) => {
    for (let decade = 1; decade < 1e15; decade *= 10)
      for (const m of [1, 2, 5]) if (decade * m >= least) return decade * m;
    return 1e15;
  };

  class Timeline {
    constructor(figure) {
      this.figure = figure;
      this.id = figure.dataset.id;
      this.from = Number(figure.dataset.from);
      this.knots = JSON.parse(figure.dataset.knots);
      this.length = this.knots[this.knots.length - 1].t;
      this.margin = this.knots[0].x;
      this.base = this.knots[this.knots.length - 1].x - this.margin;
      this.plot = figure.querySelector(".plot");
      this.chart = figure.querySelector(".chart");
      this.height = this.chart.viewBox.baseVal.height;
      this.marks = all(".mark", this.chart);
      this.turns = this.marks.map((mark) => ({ a: Number(mark.dataset.a), mark, told: byId(`${this.id}-turn-${mark.dataset.number}`) }));
      this.timed = all("[data-a]", this.chart);
      this.cursor = figure.querySelector(".cursor");
      this.curtain = figure.querySelector(".curtain");
      this.readout = figure.querySelector(".readout");
      this.caption = figure.querySelector(".uneven");
      this.uneven = this.caption && this.caption.textContent;
      this.zoom = 1;
      this.even = false;
      this.step = -1;
      this.titles();
      this.listen();
      figure.querySelector(".tools").hidden = false;
    }

    // An immediate tip replaces the browser's own.
    titles() {
      for (const title of all("title", this.chart)) {
        title.parentNode.dataset.tip = title.textContent;
        title.remove();
      }
      for (const mark of this.marks) mark.setAttribute("tabindex", "-1");
    }

    x(t) {
      return this.margin + this.part(t) * (this.width - 2 * this.margin);
    }

    // The position of a time between both ends, from 0 to 1.
    part(t) {
      return Math.min(Math.max(this.even ? t / this.length : this.share(t), 0), 1);
    }

    // The time at a position.
    time(part) {
      if (part >= 1) return this.length;
      if (this.even) return part * this.length;
      const x = this.margin + part * this.base;
      const i = Math.max(this.knots.findIndex((k) => k.x > x), 1);
      const a = this.knots[i - 1], b = this.knots[i];
      return a.t + ((x - a.x) * (b.t - a.t)) / (b.x - a.x);
    }

    // The position of a time when quiet stretches are shortened.
    share(t) {
      let low = 0, high = this.knots.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (this.knots[middle].t <= t) low = middle; else high = middle;
      }
      const a = this.knots[low], b = this.knots[high];
      return (a.x - this.margin + ((b.x - a.x) * (t - a.t)) / (b.t - a.t)) / this.base;
    }

    layout() {
      const room = this.plot.clientWidth;
      if (!room) return;
      this.width = Math.max(room, 200) * this.zoom;
      this.chart.setAttribute("width", this.width);
      this.chart.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
      for (const el of this.timed) this.place(el);
      this.dodge();
      this.instants();
      this.ticks();
    }

    // The label of a fault without a duration follows it unless it would overlap the next fault of its row.
    instants() {
      const faults = all(".bar.fault", this.chart).map((bar) => {
        const rect = bar.querySelector("rect");
        return { bar, x: Number(rect.getAttribute("x")), y: rect.getAttribute("y") };
      });
      for (const f of faults) {
        const label = f.bar.querySelector("text");
        if (!label || !f.bar.classList.contains("instant")) continue;
        label.classList.toggle("covered", faults.some((o) => o.y === f.y && o.x > f.x && o.x - f.x < Number(label.dataset.room)));
      }
    }

    place(el) {
      const x = this.x(Number(el.dataset.a));
      if (el.classList.contains("at")) {
        if (!el.classList.contains("mark")) el.setAttribute("transform", `translate(${x} ${el.dataset.y || 0})`);
        return;
      }
      const w = Math.max(this.x(Number(el.dataset.b)) - x, 1.5);
      if (el.tagName !== "text") {
        el.setAttribute("x", x);
        el.setAttribute("width", w);
        return;
      }
      let room = Number(el.dataset.room);
      const goes = () => w >= room || x >= room || x + w + 6 + room <= this.width; // in the band, before it or behind it
      if (el.dataset.keep) {
        const whole = (el.whole ||= el.textContent), brief = whole.replace(/: [^:]*$/, ""); // the duration may be omitted
        el.textContent = whole;
        if (!goes()) [el.textContent, room] = [brief, room - 6.4 * (whole.length - brief.length)];
      }
      const tight = w < room, behind = tight && el.dataset.keep && x < room, fits = !behind || goes(); // otherwise over the band
      el.setAttribute("x", behind ? (fits ? x + w + 6 : this.width - 4) : x + 6);
      el.classList.toggle("tight", tight && !el.dataset.keep);
      el.classList.toggle("behind", Boolean(behind));
      el.classList.toggle("over", Boolean(behind && !fits));
      el.classList.toggle("outside", Boolean(tight && el.dataset.keep && !behind));
    }

    // Marks are in two rows; an overlapping mark moves aside, and a stem connects it with its time.
    dodge() {
      const room = 22, last = [-room, -room], next = [this.width + room / 2, this.width + room / 2];
      const places = this.marks.map((mark) => {
        const x = this.x(Number(mark.dataset.a));
        const row = Math.max(x, last[1] + room) < Math.max(x, last[0] + room) ? 1 : 0;
        last[row] = Math.max(x, last[row] + room);
        return { mark, x, row, at: last[row] };
      });
      for (const p of places.reverse()) {
        p.at = Math.min(p.at, next[p.row] - room);
        next[p.row] = p.at;
        const y = 11 + 21 * p.row;
        p.mark.setAttribute("transform", `translate(${p.at} ${y})`);
        p.mark.querySelector(".stem").setAttribute("d", `M0 0L${p.x - p.at} ${44 - y}`);
      }
    }

    ticks() {
      const group = this.chart.querySelector(".ticks");
      const pattern = group.firstElementChild;
      if (!pattern) return;
      const times = [];
      if (this.even || this.knots.length === 2) {
        const step = roundStep((this.length * 118) / this.width);
        for (let at = Math.ceil(this.from / step) * step; at <= this.from + this.length; at += step) times.push(at - this.from);
      } else {
        times.push(...this.marks.map((m) => Number(m.dataset.a)), this.length);
        if (this.zoom > 1.5) times.push(...this.knots.map((k) => k.t));
        times.sort((a, b) => a - b);
      }
      const made = [], room = 84;
      let last = -room;
      for (const t of times) {
        const x = this.x(t), end = x > this.width - room, start = end ? x - room : x;
        if (start - last < room) continue;
        const tick = pattern.cloneNode(true), label = tick.querySelector("text");
        tick.setAttribute("transform", `translate(${x} 0)`);
        label.textContent = moment(this.from + t).replace(/\.?0+ /, " ");
        label.classList.toggle("last", end);
        made.push(tick);
        last = start;
      }
      if (made.length) group.replaceChildren(...made);
    }

    zoomTo(zoom, pixel) {
      const next = Math.min(Math.max(zoom, 1), 60);
      const share = (this.plot.scrollLeft + pixel) / this.width;
      this.zoom = next;
      this.layout();
      this.plot.scrollLeft = share * this.width - pixel;
      this.point();
    }

    // Before the first turn.
    reset() {
      this.step = -1;
      this.readout.textContent = "";
      for (const el of all(".current", this.figure.parentNode)) el.classList.remove("current");
      this.cursor.classList.add("off");
    }

    // Shows a turn of the story.
    go(index) {
      if (!this.turns.length) return;
      this.step = Math.min(Math.max(index, 0), this.turns.length - 1);
      const turn = this.turns[this.step];
      this.readout.textContent = turn.mark.getAttribute("aria-label");
      for (const el of all(".current", this.figure.parentNode)) el.classList.remove("current");
      for (const el of [turn.mark, turn.told]) el.classList.add("current");
      this.point();
      this.figure.dispatchEvent(new CustomEvent("step", { bubbles: true, detail: turn }));
      const x = this.x(turn.a);
      if (x < this.plot.scrollLeft + 20 || x > this.plot.scrollLeft + this.plot.clientWidth - 20)
        this.plot.scrollLeft = x - this.plot.clientWidth / 2;
    }

    // Hides everything after a time, or nothing: a page that unfolds the story moves the curtain step by step.
    unfold(until) {
      this.until = until;
      const later = (el) => until !== undefined && Number(el.dataset.a) > until;
      for (const { mark, told } of this.turns) {
        mark.classList.toggle("off", later(mark));
        told.hidden = later(mark);
      }
      const broken = this.chart.querySelector(".broken-band");
      if (broken) {
        const hidden = later(broken.querySelector("rect"));
        broken.classList.toggle("off", hidden);
        this.figure.querySelector(".lane-name.broken").classList.toggle("off", hidden);
      }
      this.curtain.classList.toggle("off", until === undefined);
      if (until === undefined) return;
      const x = this.x(until);
      this.curtain.setAttribute("x", x);
      this.curtain.setAttribute("width", Math.max(this.width - x, 0));
    }

    point() {
      if (this.until !== undefined) this.unfold(this.until);
      if (this.step < 0) return;
      this.cursor.classList.remove("off");
      const x = this.x(this.turns[this.step].a);
      this.cursor.setAttribute("x1", x);
      this.cursor.setAttribute("x2", x);
    }

    listen() {
      const act = {
        back: () => this.go(this.step - 1), on: () => this.go(this.step + 1),
        in: () => this.zoomTo(this.zoom * 1.6, this.plot.clientWidth / 2),
        out: () => this.zoomTo(this.zoom / 1.6, this.plot.clientWidth / 2),
        fit: () => this.zoomTo(1, 0),
        scale: (b) => {
          this.even = !this.even;
          b.setAttribute("aria-pressed", this.even);
          this.caption.textContent = this.even ? "True to scale." : this.uneven;
          this.zoomTo(this.zoom, 0);
        },
      };
      for (const b of all("[data-do]", this.figure)) b.addEventListener("click", () => act[b.dataset.do](b));
      this.plot.addEventListener("keydown", (e) => {
        if (e.altKey || e.ctrlKey || e.metaKey) return;
        const keys = {
          ArrowRight: act.on, ArrowLeft: act.back, Home: () => this.go(0), End: () => this.go(this.turns.length - 1),
          "+": act.in, "-": act.out, 0: act.fit,
        };
        if (!keys[e.key]) return;
        e.preventDefault();
        keys[e.key]();
      });
      this.plot.addEventListener("wheel", (e) => {
        if (!e.ctrlKey) return;
        e.preventDefault();
        this.zoomTo(this.zoom * Math.exp(-e.deltaY / 240), e.clientX - this.plot.getBoundingClientRect().x);
      }, { passive: false });
      this.drag();
      this.plot.addEventListener("pointerover", (e) => {
        const el = e.target.closest("[data-tip]");
        if (el && el.dataset.tip) showTip(el.dataset.tip, { x: e.clientX, y: el.getBoundingClientRect().y, height: 20 });
        else tip.hidden = true;
      });
      this.plot.addEventListener("pointerleave", () => { tip.hidden = true; });
      for (const mark of this.marks) {
        mark.addEventListener("click", () => this.go(this.marks.indexOf(mark)));
        mark.addEventListener("focus", () => showTip(mark.dataset.tip, mark.getBoundingClientRect()));
        mark.addEventListener("blur", () => { tip.hidden = true; });
      }
    }

    drag() {
      let start = null;
      this.plot.addEventListener("pointerdown", (e) => {
        if (e.pointerType !== "mouse" || e.button !== 0 || e.target.closest("a")) return;
        start = { x: e.clientX, left: this.plot.scrollLeft };
        this.plot.setPointerCapture(e.pointerId);
        this.plot.classList.add("dragging");
      });
      this.plot.addEventListener("pointermove", (e) => { if (start) this.plot.scrollLeft = start.left - (e.clientX - start.x); });
      for (const end of ["pointerup", "pointercancel"])
        this.plot.addEventListener(end, () => { start = null; this.plot.classList.remove("dragging"); });
    }
  }

  // A picture is laid out when it first comes near the screen, so that a page with a hundred pictures opens at once,
  // and again when its width changes.
  const of = (figure) => figure.timeline || (figure.timeline = new Timeline(figure));
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      widths.observe(of(entry.target).plot);
    }
  }, { rootMargin: "600px" });
  const widths = new ResizeObserver((entries) => {
    for (const entry of entries) {
      if (!entry.target.isConnected) { // another picture replaced it
        widths.unobserve(entry.target);
        continue;
      }
      const timeline = of(entry.target.closest(".timeline"));
      timeline.layout();
      timeline.point();
    }
  });
  for (const figure of all(".timeline")) near.observe(figure);

  // A page that inserts a picture later gets its timeline here.
  window.timelineOf = (figure) => {
    const timeline = of(figure);
    timeline.layout();
    widths.observe(timeline.plot);
    return timeline;
  };

  // Deep links: #row-turn-N and #row-mark-N.
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && byId(id);
    if (!target) return;
    for (let d = target.closest("details"); d; d = d.parentNode.closest("details")) d.open = true;
    const account = target.closest(".account");
    const figure = account && account.querySelector(".timeline");
    if (figure) {
      const timeline = of(figure);
      timeline.layout();
      const number = /-(turn|mark)-(\d+)$/.exec(id);
      if (number) timeline.go(Number(number[2]) - 1);
    }
    target.scrollIntoView({ block: "center" });
  };
  // The keys n and p move between unexpected results; their commands can be copied.
  const findings = all("article.finding");
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
    const top = (f) => f.getBoundingClientRect().top, at = findings.indexOf(document.activeElement.closest("article.finding"));
    const from = { n: at >= 0 ? at + 1 : findings.findIndex((f) => top(f) > 0), p: at >= 0 ? at - 1 : findings.findLastIndex((f) => top(f) < 0) }[e.key];
    if (!findings[from]) return;
    findings[from].scrollIntoView();
    findings[from].querySelector("a").focus({ preventScroll: true });
  });
  for (const code of all(".repeat code")) {
    const copy = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
    copy.addEventListener("click", async () => {
      getSelection().selectAllChildren(code); // selected in case copying is forbidden
      try { await navigator.clipboard.writeText(code.textContent); copy.textContent = "Copied"; } catch { copy.textContent = "Marked"; }
    });
    code.after(" ", copy);
  }

  addEventListener("hashchange", follow);
  follow();
  for (const keys of all(".keys")) keys.hidden = false;
})();
