// The page: dark or light, lines to copy, links, paper.
const root = document.documentElement;
const toggle = document.getElementById("theme");
const night = matchMedia("(prefers-color-scheme: dark)");

function theme(dark) {
  if (view.dark !== dark) {
    view.dark = dark;
    redraw();
  }
  toggle.textContent = dark ? "Light" : "Dark";
  toggle.setAttribute("aria-label", `Show the page in ${dark ? "light" : "dark"} colours`);
}
toggle.hidden = false;
toggle.addEventListener("click", () => {
  root.dataset.theme = view.dark ? "light" : "dark";
  theme(!view.dark);
});
night.addEventListener("change", () => { if (!root.dataset.theme) theme(night.matches); });
theme(night.matches);

// By selecting the lines: the newer way to the clipboard is closed to a page in a frame.
for (const button of all("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    button.textContent = document.execCommand("copy") ? "copied" : "selected";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}

// Links within the page: what is folded away opens, also in a frame, where # leads outside.
for (const link of all('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    const goal = document.getElementById(link.hash.slice(1));
    if (!goal) return;
    goal.closest("details")?.setAttribute("open", "");
    if (location.protocol === "about:") {
      event.preventDefault();
      goal.scrollIntoView();
    }
  });
}

// On paper everything is open, drawn and light.
let opened = [];
function paper(printing) {
  if (view.printing === printing) return;
  view.printing = printing;
  if (printing) {
    opened = all("details:not([open])");
    opened.forEach((one) => { one.open = true; });
    all(".plot").forEach(draw);
  } else {
    opened.forEach((one) => { one.open = false; });
    drawn.forEach((box) => (box.offsetParent ? Plotly.Plots.resize(box) : forget(box)));
    redraw();
  }
}
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
matchMedia("print").addEventListener("change", (event) => paper(event.matches));
