"use strict";
// Shows one scheduler, group or flow alone in all tables and pictures: while a pointer or the focus is on it, or, once its
// button is pressed, until that is pressed again or Escape is.
{
  const buttons = [...document.querySelectorAll(".picker button")];
  let pinned = null;
  let shown = null;

  const same = (a, b) => a === b || (a && b && a.kind === b.kind && a.name === b.name);

  function show(what) {
    if (same(what, shown)) return;
    shown = what;
    for (const element of document.querySelectorAll(".lit, .dim")) element.classList.remove("lit", "dim");
    if (!what) return;
    for (const element of document.querySelectorAll(`:is(g, tr)[data-${what.kind}]`)) {
      element.classList.add(element.dataset[what.kind] === what.name ? "lit" : "dim");
    }
  }

  // The nearest thing with a name that the element is a part of.
  function named(element) {
    const button = element.closest(".picker button");
    if (button) return { kind: button.dataset.kind, name: button.dataset.name };
    const part = element.closest("[data-flow], [data-group], [data-scheduler]");
    const kind = part && ["flow", "scheduler", "group"].find((kind) => part.dataset[kind]);
    return kind ? { kind, name: part.dataset[kind] } : null;
  }

  function pin(what) {
    pinned = same(what, pinned) ? null : what;
    for (const button of buttons) button.setAttribute("aria-pressed", String(same(named(button), pinned)));
    show(pinned);
  }

  for (const event of ["pointerover", "focusin"]) {
    document.addEventListener(event, (e) => show(named(e.target) ?? pinned));
  }
  document.addEventListener("pointerleave", () => show(pinned));
  document.addEventListener("focusout", () => show(pinned));
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") pin(pinned);
  });
  for (const button of buttons) button.addEventListener("click", () => pin(named(button)));
  for (const picker of document.querySelectorAll(".picker")) picker.hidden = false;
}
