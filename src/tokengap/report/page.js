// Draw every chart of the page. The expression interpreter stands in for eval, which the page forbids.
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  ast: true,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};

async function draw(place) {
  const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  try {
    return (await vegaEmbed(place, spec, options)).view;
  } catch (error) {
    place.textContent = `This chart could not be drawn: ${error.message}`;
    return null;
  }
}

// A point picked in one chart is the only request that the other shows.
function link(points, timelines, place) {
  const note = document.createElement("p");
  const back = document.createElement("button");
  note.className = "picked";
  note.role = "status";
  back.type = "button";
  back.textContent = "Show the worst ones again";
  back.onclick = () => points.data("point_store", []).runAsync();
  place.before(note);
  const [height, step] = [timelines.height(), timelines.signal("step")];
  points.addSignalListener("point", async (_, { timeline: [picked] = [0] }) => {
    note.replaceChildren(...(picked ? ["Only the request picked above.", back] : []));
    await timelines.signal("picked", picked).height(picked ? step : height).runAsync();
    if (picked) place.parentElement.scrollIntoView({ block: "nearest" });
  });
}

async function drawAll() {
  const places = [...document.querySelectorAll("[data-chart]")];
  const views = await Promise.all(places.map(draw));
  const at = (name) => places.findIndex((place) => place.dataset.chart === `chart-${name}`);
  const [points, timelines] = [at("average_against_worst"), at("request_timelines")];
  if (views[points] && views[timelines]) link(views[points], views[timelines], places[timelines]);
}

drawAll();
