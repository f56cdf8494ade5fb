// The checks of axe-core that a script can make: a text for each faulty element. The check of names uses the
// accessibility tree, in Go.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const at = (e) => e.outerHTML.replace(/\s+/g, " ").slice(0, 120);
  const need = (ok, what) => { if (!ok) wrong.push(what); };

  need(document.documentElement.lang, "html has no lang");
  need(document.title.trim(), "the page has no title");
  need(all("main").length === 1, "the page has no main landmark, or several");
  need(all("h1").length === 1, "the page has no h1, or several");
  need(!/user-scalable=no|maximum-scale=1\b/.test(document.querySelector("meta[name=viewport]")?.content), "the page cannot be zoomed");

  let level = 0;
  for (const h of all("h1, h2, h3, h4, h5, h6").filter(shown)) {
    const own = Number(h.tagName[1]);
    need(own - level <= 1, `a heading skips a level: ${at(h)}`);
    level = own;
  }

  const ids = new Set();
  for (const e of all("[id]")) {
    need(!ids.has(e.id), `an id is there twice: ${at(e)}`);
    ids.add(e.id);
  }
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"])
    for (const e of all(`[${name}]`))
      for (const id of e.getAttribute(name).split(/\s+/))
        need(ids.has(id), `${name} names what is not there: ${at(e)}`);

  for (const e of all("[tabindex]")) need(e.tabIndex <= 0, `a tabindex changes the order: ${at(e)}`);
  for (const e of all("[aria-hidden=true]"))
    need(![e, ...e.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].some((f) => f.tabIndex >= 0 && f.matches("a[href], button, input, select, summary, [tabindex='0']")), `hidden from readers, and can have the focus: ${at(e)}`);
  for (const e of all("ul, ol")) need([...e.children].every((c) => c.matches("li, template")), `a list holds what is no item: ${at(e)}`);
  for (const e of all("dl")) need([...e.children].every((c) => c.matches("div, dt, dd")), `a dl holds what is no term: ${at(e)}`);
  for (const e of all("table")) need(e.querySelector("th[scope=col]"), `a table without headers: ${at(e)}`);
  for (const e of all("body *").filter(shown)) {
    const flow = getComputedStyle(e), scrolls = /auto|scroll/.test(flow.overflowX + flow.overflowY);
    if (scrolls && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1))
      need(e.tabIndex >= 0 || e.querySelector("a[href], button, input"), `scrolls, but not with the keyboard: ${at(e)}`);
  }
  // WCAG 2.2, 2.5.8: 24 pixels each way, but for links within text.
  for (const e of all("button, select, input:not([type=hidden]), summary").filter(shown)) {
    const box = (e.closest("label") || e).getBoundingClientRect();
    need(box.width >= 24 && box.height >= 24, `smaller than 24 pixels: ${at(e)}`);
  }

  // WCAG 2, 1.4.3: text against what is painted behind it.
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const colours = {}; // the canvas needs most of the time
  const colour = (css) => {
    if (!colours[css]) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = css;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      colours[css] = [r, g, b, a / 255];
    }
    return [...colours[css]];
  };
  const over = (front, back) => front.slice(0, 3).map((c, i) => c * front[3] + back[i] * (1 - front[3]));
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(colour(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((back, layer) => over(layer, back), colour("Canvas").slice(0, 3));
  };
  const luminance = (c) => c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const faded = (e, c) => {
    for (; e; e = e.parentElement) c[3] *= Number(getComputedStyle(e).opacity);
    return c;
  };
  // The background of a picture's text: a halo of its own, or all shapes before it that contain its middle. A pattern
  // shows what is under it, and counts as nothing.
  const drawnBehind = (e, style) => {
    if (/^stroke/.test(style.paintOrder) && style.stroke !== "none" && parseFloat(style.strokeWidth) >= 3)
      return over(colour(style.stroke), behind(e));
    const { x, y, width, height } = e.getBoundingClientRect();
    const inside = (b) => b.left <= x + width / 2 && b.right >= x + width / 2 && b.top <= y + height / 2 && b.bottom >= y + height / 2;
    return [...e.closest("svg").querySelectorAll("rect, circle, ellipse, polygon, path")]
      .filter((s) => s.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING && !s.closest("defs") && shown(s) && inside(s.getBoundingClientRect()))
      .map((s) => [s, getComputedStyle(s)]).filter(([, own]) => own.fill !== "none" && !own.fill.startsWith("url("))
      .reduce((back, [s, own]) => {
        const fill = faded(s, colour(own.fill));
        fill[3] *= Number(own.fillOpacity);
        return over(fill, back);
      }, behind(e.closest("svg")));
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement, drawn = e.closest("svg");
    if (!texts.currentNode.data.trim() || seen.has(e) || e.closest("title, desc, script, style, noscript, option, :disabled") || !shown(e)) continue;
    seen.add(e);
    const style = getComputedStyle(e), back = drawn ? drawnBehind(e, style) : behind(e), front = faded(e, colour(drawn ? style.fill : style.color));
    const [light, dark] = [luminance(over(front, back)), luminance(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    need(ratio >= (large ? 3 : 4.5), `contrast ${ratio.toFixed(2)}: ${at(e)}`);
  }
  return wrong.join("\n");
})()
