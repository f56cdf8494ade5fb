"use strict";
// The list of runs is complete without this script, which updates it while a run is active.
setInterval(async () => {
  const list = document.getElementById("runs");
  if (document.hidden || list.contains(document.activeElement)) return;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const fresh = page.getElementById("runs");
  if (fresh && fresh.innerHTML !== list.innerHTML) list.replaceChildren(...fresh.childNodes);
}, 2000);
