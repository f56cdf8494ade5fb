"use strict";
// An examination runs in steps, so that it shows its progress and can be stopped. With a server it works without this
// script: each step is a page.
(() => {
  // This browser stores passed levels and their decisions, if it allows storage.
  const storage = (() => { try { return localStorage; } catch { return {}; } })();
  const kept = (name) => new URLSearchParams(storage[`passed-${name}`] || "");
  for (const li of document.querySelectorAll("[data-level]"))
    if (storage[`passed-${li.dataset.level}`]) li.append(" ✓ passed");
  const form = document.getElementById("experiment");
  if (!form) return;
  const level = location.pathname.split("/").pop().replace(".html", "");
  for (const [name, value] of kept(level)) {
    const field = form.elements[name];
    if (field && !field.value) field.value = value;
  }
  // The final lock has the learner's own formulas.
  const fillIn = (code) => {
    for (const part of code.querySelectorAll("[data-own]")) {
      const said = kept(part.dataset.own).get(part.dataset.name);
      if (said) part.textContent = `(${said})`;
    }
  };
  const byId = (id) => document.getElementById(id);
  const { engine } = window; // only for pages from files
  const stop = byId("stop");
  if (engine) engine.start().catch(() => {}); // errors show when a run needs it

  const ask = async (data) => {
    if (!engine) return (await fetch(form.action, { method: "POST", body: data })).text();
    return (await engine.ask(engine.path(form.action), data, true)).text;
  };

  let latest = 0; // number of the current examination
  const examine = async () => {
    const own = ++latest;
    const data = new URLSearchParams(new FormData(form));
    data.delete("tried");
    byId("outcome").replaceChildren();
    byId("problem").textContent = "";
    byId("busy").textContent = "Trying the catalogue’s schedules …";
    stop.hidden = false;
    try {
      while (own === latest) {
        const page = new DOMParser().parseFromString(await ask(data), "text/html");
        if (own !== latest) return;
        if (!page.getElementById("experiment")) throw new Error("the server sent another page than an exercise");
        byId("problem").textContent = page.getElementById("problem").textContent;
        byId("outcome").replaceWith(page.getElementById("outcome"));
        const tried = document.querySelector("[name=tried]");
        if (!tried) { // the end: it is read from here on, and was not while it went on
          const heading = byId("outcome").querySelector("h2");
          if (heading) heading.focus();
          break;
        }
        data.set("tried", tried.value);
        tried.remove();
        document.querySelector(".go-on").remove();
        byId("busy").textContent = "Trying random schedules …";
      }
      if (document.querySelector("[data-passed]")) {
        data.delete("tried");
        try { localStorage.setItem(`passed-${level}`, data); } catch { /* not kept */ }
        fillIn(byId("outcome"));
      }
      for (const picture of byId("outcome").querySelectorAll(".timeline")) window.timelineOf(picture);
    } catch (e) {
      if (own === latest) byId("problem").textContent = `The examination failed: ${e.message}.`;
    }
    if (own === latest) end();
  };

  const end = () => {
    latest++;
    byId("busy").textContent = "";
    stop.hidden = true;
  };

  form.addEventListener("submit", (e) => {
    e.preventDefault();
    examine();
  });
  // A changed decision makes another lock.
  form.addEventListener("input", () => {
    if (stop.hidden) return;
    stop.click();
  });
  stop.addEventListener("click", () => {
    end();
    if (engine) engine.stop(); // it would finish its step
    byId("busy").textContent = "Stopped.";
  });
})();
