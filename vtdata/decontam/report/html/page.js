"use strict";
(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const list = byId("hits");
  const fields = ["bench", "verdict", "side"];
  const hits = [...list.querySelectorAll(":scope > article, :scope > template")].map((node) => ({
    root: node.content ? node.content.firstElementChild : node,
    text: null,
  }));
  let kept = hits;
  let page = 0;

  const plain = (text) => text.normalize("NFKC").toLowerCase();

  function contains(hit, wanted) {
    hit.text ??= plain(hit.root.textContent);
    return hit.text.includes(wanted);
  }

  function filter() {
    const wanted = plain(byId("text").value.trim());
    const chosen = fields.map((name) => [name, byId(name).value]).filter(([, value]) => value);
    kept = hits.filter(
      (hit) =>
        chosen.every(([name, value]) => hit.root.dataset[name] === value) &&
        (!wanted || contains(hit, wanted)),
    );
    show(0);
  }

  function show(wanted) {
    const pages = Math.max(1, Math.ceil(kept.length / PAGE));
    page = Math.min(Math.max(wanted, 0), pages - 1);
    list.replaceChildren(...kept.slice(page * PAGE, (page + 1) * PAGE).map((hit) => hit.root));
    byId("count").textContent =
      `${kept.length} of ${hits.length} hits, page ${page + 1} of ${pages}`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === pages - 1;
  }

  function turn(by) {
    const before = page;
    show(page + by);
    if (page !== before) list.firstElementChild.focus();
  }

  function step(by) {
    const here = document.activeElement.closest("article");
    const to = here ? (by > 0 ? here.nextElementSibling : here.previousElementSibling)
      : list.firstElementChild;
    if (to) to.focus();
  }

  function follow() {
    const at = kept.findIndex((hit) => `#${hit.root.id}` === location.hash);
    if (at < 0) return;
    show(Math.floor(at / PAGE));
    kept[at].root.focus();
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    n: () => turn(1),
    p: () => turn(-1),
    "/": () => byId("text").focus(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });

  let waiting;
  byId("text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 150);
  });
  fields.forEach((name) => byId(name).addEventListener("change", filter));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("hashchange", follow);
  byId("filters").hidden = !hits.length;
  show(0);
  follow();
})();
