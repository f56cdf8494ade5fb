"use strict";
// The list of runs is whole without this script. With it it goes on by itself while a run does.
setInterval(async () => {
  const list = document.getElementById("runs");
  if (document.hidden || list.contains(document.activeElement)) return;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const fresh = page.getElementById("runs");
  if (fresh && fresh.innerHTML !== list.innerHTML) list.replaceChildren(...fresh.childNodes);
}, 2000);
