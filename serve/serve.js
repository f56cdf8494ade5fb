"use strict";
// The pages of runs are whole without this script. With it they go on by
// themselves while a run does: the server says that something is new, and the
// parts that may have changed are fetched again.
(() => {
  if (!document.body.dataset.live) return;
  let known = document.body.dataset.live;
  let busy = false, again = false;

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const fresh = page.getElementById(part.id);
      const chosen = [...part.querySelectorAll("input:checked")].map((e) => e.value);
      if (!fresh || fresh.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue;
      part.replaceChildren(...fresh.childNodes);
      for (const box of part.querySelectorAll("input")) box.checked = chosen.includes(box.value);
    }
    busy = false;
    if (again) { again = false; refresh(); }
  };

  const source = new EventSource("/live");
  source.onmessage = (e) => {
    if (e.data === known) return;
    known = e.data;
    refresh();
  };
  addEventListener("pagehide", () => source.close());
})();
