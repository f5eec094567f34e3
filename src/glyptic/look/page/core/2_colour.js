// Colours that any eye can tell apart: signed values blue – paper – orange, shares of one hue, series by Okabe and Ito.
{
  const LIGHTS = {
    light: {paper: [255, 255, 255], low: [11, 90, 162], high: [196, 84, 0], share: [11, 90, 162]},
    dark: {paper: [27, 31, 36], low: [96, 174, 255], high: [255, 158, 74], share: [120, 190, 255]},
  };
  const SERIES = {
    light: ["#0072B2", "#B35C00", "#007A5A", "#A8487E", "#2A7FB0", "#C1440E", "#882255", "#5C5C2E"],
    dark: ["#6BB8F0", "#F5B041", "#4FD0A5", "#F0A3CC", "#9AD6FA", "#FF9466", "#E08BB5", "#C9C98A"],
  };
  const light = () => (document.documentElement.dataset.light === "dark" ? "dark" : "light");
  const between = (from, to, x) => from.map((a, i) => Math.round(a + (to[i] - a) * x));
  const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function bytes(scale, x) {
    const colours = LIGHTS[light()];
    if (!Number.isFinite(x)) x = 0;
    const depth = Math.min(1, Math.abs(x));
    const end = scale === "share" ? colours.share : x < 0 ? colours.low : colours.high;
    return between(colours.paper, end, Math.sqrt(depth) * 0.92); // the root: small values are seen too
  }

  // What can be read on a cell of such a colour: black or white, whichever is further away.
  function inkOn([r, g, b]) {
    const channel = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    return luminance > 0.179 ? "#000" : "#fff";
  }

  G.colour = {
    bytes,
    signed: (x) => css(bytes("signed", x)),
    share: (x) => css(bytes("share", x)),
    inkOn: (scale, x) => inkOn(bytes(scale, x)),
    series: (i) => SERIES[light()][((i % 8) + 8) % 8],
    ink: () => variable("--ink"),
    paper: () => variable("--paper"),
    muted: () => variable("--muted"),
    line: () => variable("--line"),
    good: () => variable("--good"),
    bad: () => variable("--bad"),
    accent: () => variable("--accent"),
  };
}
