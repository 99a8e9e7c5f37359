// Keeps a page up to date. The server makes the page; this only puts the new one in the old one's place.
"use strict";

const live = document.getElementById("live");
const pause = document.getElementById("pause");
const state = document.getElementById("state");
let source = null;

/** Puts new parts in place. */
function showAll(text) {
  const parts = text.split("\u001e");
  show(live, parts[0]);
  const below = document.getElementById("below");
  if (below && parts.length > 1) show(below, parts[1]);
}

/** Puts a new text in place, and leaves the reader where they are: at what has the focus, what is
 * unfolded, and how far a wide table was moved. */
function show(live, text) {
  const focus = live.contains(document.activeElement) ? document.activeElement.id : "";
  if (live.contains(document.activeElement) && !focus) return;
  const open = [...live.querySelectorAll("details[open]")].map((one) => one.id);
  const moved = [...live.querySelectorAll(".wide")].map((one) => one.scrollLeft);
  // A marked text stays marked.
  const marked = document.getSelection();
  if (marked && !marked.isCollapsed && live.contains(marked.anchorNode)) return;
  live.innerHTML = text;
  for (const id of open) {
    const one = id && document.getElementById(id);
    if (one) one.open = true;
  }
  [...live.querySelectorAll(".wide")].forEach((one, at) => { one.scrollLeft = moved[at] || 0; });
  const again = focus && document.getElementById(focus);
  if (again) again.focus({ preventScroll: true });
}

function follow() {
  source = new EventSource(live.dataset.live);
  source.onmessage = (event) => {
    if (event.data) showAll(event.data);
    state.textContent = "";
  };
  source.onerror = () => {
    state.textContent = "The server does not answer. What is below may be old.";
    // It is closed for good when one is not logged in any more.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 3000);
  };
}

function stop() {
  if (source) source.close();
  source = null;
}

if (live && window.EventSource) {
  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = source !== null;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (paused) stop(); else follow();
    state.textContent = paused ? "Paused." : "";
  });
  // A page that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => {
    if (pause.getAttribute("aria-pressed") === "true") return;
    if (document.hidden) stop(); else if (!source) follow();
  });
  follow();
}

// What cannot be taken back asks first.
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.confirm)) event.preventDefault();
  });
}
