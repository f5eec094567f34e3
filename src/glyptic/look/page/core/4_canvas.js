// A picture made of pixels: sharp on every screen, and one way to point at it, by mouse and by keys.
{
  const {h} = G;

  // `pen()` is for drawing it anew, in points of the page.
  G.canvas = (width, height) => {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const canvas = h("canvas", {
      width: width * ratio,
      height: height * ratio,
      tabindex: "0",
      role: "img",
      style: {width: `${width}px`, height: `${height}px`},
    });
    const pen = () => {
      const draw = canvas.getContext("2d");
      draw.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw.clearRect(0, 0, width, height);
      return draw;
    };
    return {canvas, pen};
  };

  const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

  // `at` finds the place of an event, or null. `hover` hears of each new place, `pick` of a click, `walk` of an arrow as steps
  // [down, across], `leave` of Escape; the last two say false where the key means nothing.
  G.pointing = (canvas, {at, hover, pick, walk, leave = () => false}) => {
    let seen = null;
    const look = (place) => {
      if (String(place) === String(seen)) return;
      seen = place;
      hover(place);
    };
    canvas.addEventListener("mousemove", (event) => look(at(event)));
    canvas.addEventListener("mouseleave", () => look(null));
    canvas.addEventListener("click", (event) => pick(at(event)));
    canvas.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if ((arrow ? walk(...arrow) : event.key === "Escape" ? leave() : false) === false) return;
      event.preventDefault();
      event.stopPropagation();
    });
  };
}
