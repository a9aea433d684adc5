"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const places = data.layers * data.heads;
  const byName = new Map(data.measures.map((measure) => [measure.measure, measure]));
  const there = data.measures.filter((measure) => !measure.note);
  // Okabe and Ito's colours: told apart under the common kinds of colour blindness.
  const NAMES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#8a8a8a"];
  const NO_NAME = "#e6e6e6";
  const state = { measure: there[0].measure, second: (there.find((m, k) => k > 0 && m.kind === "number") || there[0]).measure, head: 0, sentence: 0 };

  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const label = (index) => `layer ${Math.floor(index / data.heads) + 1}, head ${(index % data.heads) + 1}`;
  const shown = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
  const short = (value) => {
    if (value === null) return "";
    if (typeof value !== "number") return value.split("_").map((part) => part.slice(0, 2)).join("·");
    if (Math.abs(value) < 0.0005) return "0";
    const text = Math.abs(value) >= 10 ? value.toFixed(0) : Math.abs(value) < 0.01 ? value.toFixed(3) : value.toPrecision(2);
    return text.replace(/^(-?)0\./, "$1.");
  };
  const examples = (measure) => (measure.n === "" ? "–" : `${measure.n} ${measure.n_unit}`);
  // What a measure is compared with: the range of its null distribution, or the value of a head without the effect.
  const nullOf = (measure, index) => {
    const [low, high, q] = (data.null[measure.measure] || []).map((values) => values[index]);
    if (low !== undefined && low !== null) return { low, high, q };
    return measure.chance === "" ? null : { low: measure.chance, high: measure.chance, q: q ?? null };
  };
  const isInside = (name, index) => Boolean(data.inside[name]?.[index]);
  const nullWords = (measure, index) => {
    const range = nullOf(measure, index);
    if (!range) return "no null distribution";
    if (!measure.null) return `value of a head without the effect: ${shown(range.low)}${range.q === null ? "" : `; q = ${shown(range.q)}`}`;
    return `95 % of ${measure.null}: ${shown(range.low)} to ${shown(range.high)}; ${range.q === null ? "q not known" : `q = ${shown(range.q)}`}`;
  };
  const unit = (measure) => (measure.unit ? ` (${measure.unit})` : "");

  // --- colours ---------------------------------------------------------------------------------------------------------
  const scales = new Map();
  const scaleOf = (name) => {
    if (scales.has(name)) return scales.get(name);
    const values = data.values[name].filter((value) => value !== null);
    let scale;
    if (byName.get(name).kind === "name") {
      const kinds = [...new Set(values)].sort();
      const named = kinds.filter((kind) => kind !== "none");
      scale = { kinds, colour: (value) => (value === "none" ? NO_NAME : NAMES[named.indexOf(value) % NAMES.length]) };
    } else {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const signed = low < 0 && high > 0;
      const far = Math.max(-low, high);
      const steps = data.ramps[signed ? "signed" : "plain"];
      const ramp = (share) => steps[Math.round(share * (steps.length - 1))];
      const share = (value) => (signed ? (value / far + 1) / 2 : high > low ? (value - low) / (high - low) : 0.5);
      scale = { low: signed ? -far : low, high: signed ? far : high, ramp, colour: (value) => ramp(share(value)) };
    }
    scales.set(name, scale);
    return scale;
  };
  // Black or white, whichever stands out more: relative luminance as WCAG 2 defines it.
  const inkOn = (colour) => {
    const [r, g, b] = [1, 3, 5].map((k) => {
      const part = parseInt(colour.slice(k, k + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
  };

  // --- the grid --------------------------------------------------------------------------------------------------------
  const buttons = [];
  const buildGrid = () => {
    const top = element("tr", { role: "row" });
    top.append(element("th", { scope: "col" }, "Layer \\ head"));
    for (let head = 1; head <= data.heads; head++) top.append(element("th", { scope: "col", role: "columnheader" }, head));
    find("grid").append(top);
    for (let layer = 0; layer < data.layers; layer++) {
      const row = element("tr", { role: "row" });
      row.append(element("th", { scope: "row", role: "rowheader" }, layer + 1));
      for (let head = 0; head < data.heads; head++) {
        const index = layer * data.heads + head;
        const button = element("button", { type: "button", tabindex: index ? "-1" : "0", "data-index": index });
        button.addEventListener("click", () => choose(index));
        buttons.push(button);
        const cell = element("td", { role: "gridcell" });
        cell.append(button);
        row.append(cell);
      }
      find("grid").append(row);
    }
    find("grid").addEventListener("keydown", (event) => {
      const from = buttons.indexOf(document.activeElement);
      const [layer, head] = [Math.floor(from / data.heads), from % data.heads];
      const to = {
        ArrowRight: from + (head + 1 < data.heads),
        ArrowLeft: from - (head > 0),
        ArrowDown: from + (layer + 1 < data.layers ? data.heads : 0),
        ArrowUp: from - (layer > 0 ? data.heads : 0),
        Home: from - head,
        End: from - head + data.heads - 1,
      }[event.key];
      if (from < 0 || to === undefined) return;
      event.preventDefault();
      buttons[from].tabIndex = -1;
      buttons[to].tabIndex = 0;
      buttons[to].focus();
    });
  };
  const paintGrid = () => {
    const measure = byName.get(state.measure);
    const scale = scaleOf(state.measure);
    buttons.forEach((button, index) => {
      const value = data.values[state.measure][index];
      const grey = find("grey").checked && isInside(state.measure, index);
      const colour = value === null || grey ? "" : scale.colour(value);
      button.classList.toggle("inside", grey);
      button.style.background = colour;
      button.style.color = colour ? inkOn(colour) : "";
      button.textContent = short(value);
      const like = isInside(state.measure, index) ? ", not distinguished from the null distribution" : "";
      button.setAttribute("aria-label", `${label(index)}: ${measure.title} ${value === null ? "not measured" : shown(value)}${like}`);
      button.setAttribute("aria-pressed", String(index === state.head));
    });
    const said = [`${measure.title}${unit(measure)}. ${measure.study}, ${measure.item}; model: ${measure.model}.`];
    if (measure.higher_means) said.push(`More: ${measure.higher_means}.`);
    if (measure.n !== "") said.push(`n: ${examples(measure)}.`);
    if (nullOf(measure, state.head)) {
      const range = nullOf(measure, state.head);
      const from = measure.null ? `Null distribution: ${measure.null}, 95 % of them from ${shown(range.low)} to ${shown(range.high)}.` : `A head without the effect has ${shown(range.low)}.`;
      const told = measure.inside_null === "" ? "" : ` ${measure.inside_null} of ${measure.heads} heads cannot be distinguished from it (${data.null[measure.measure] ? "q of 0.05 or more" : "their interval contains it"}).`;
      said.push(from + told);
    } else said.push("No null distribution.");
    if (measure.warning) said.push(`Warning: ${measure.warning}`);
    find("measure-note").textContent = said.join(" ");
    find("grey-part").hidden = !data.inside[state.measure];
    const legend = find("legend");
    legend.replaceChildren();
    if (scale.kinds) {
      for (const kind of scale.kinds) {
        const item = element("span");
        item.append(element("span", { class: "key", style: `background: ${scale.colour(kind)}` }), kind.replaceAll("_", " "));
        legend.append(item);
      }
    } else {
      const stops = Array.from({ length: 11 }, (_, k) => scale.ramp(k / 10)).join(", ");
      legend.append(shown(scale.low), element("span", { class: "ramp", style: `background: linear-gradient(90deg, ${stops})` }), shown(scale.high));
    }
    if (find("grey").checked && data.inside[state.measure]?.some(Boolean)) {
      const item = element("span");
      item.append(element("span", { class: "key inside" }), "not distinguished from the null distribution");
      legend.append(item);
    }
  };

  // --- the ranking of heads --------------------------------------------------------------------------------------------
  const RANKED = 10;
  const RELATION = "relation:";
  const intervalOf = (measure, index) => {
    const ends = (data.intervals[measure.measure] || []).map((values) => values[index]);
    return !ends.length || ends.includes(null) ? [] : ends;
  };
  const rankedByMeasure = (measure) => {
    const values = data.values[measure.measure];
    return values
      .map((value, index) => ({ index, value, ends: intervalOf(measure, index), inside: isInside(measure.measure, index) }))
      .filter((row) => row.value !== null)
      .sort((a, b) => b.value - a.value || a.index - b.index);
  };
  const rankedByRelation = (name) => {
    const rows = [];
    data.relations.forEach((relations, index) => {
      for (const row of relations) {
        if (row.relation === name) rows.push({ index, value: row.margin, ends: [row.low, row.high], inside: false });
      }
    });
    return rows.sort((a, b) => b.value - a.value || a.index - b.index);
  };
  const fillRanking = () => {
    const chosen = find("rank-by").value;
    const byRelation = chosen.startsWith(RELATION);
    const measure = byRelation ? null : byName.get(chosen);
    const rows = byRelation ? rankedByRelation(chosen.slice(RELATION.length)) : rankedByMeasure(measure);
    find("ranking-note").textContent = byRelation
      ? `Heads that follow the relation better than the best fixed offset (q < 0.05), by their margin over it, a share of words. ${rows.length} of ${places} heads.`
      : `Largest values first; ${Math.min(RANKED, rows.length)} of ${rows.length} heads. ${measure.higher_means ? `More: ${measure.higher_means}.` : ""}`;
    find("ranking").tBodies[0].replaceChildren(
      ...rows.slice(0, RANKED).map((row, place) => {
        const line = element("tr", row.inside ? { class: "inside" } : {});
        const head = element("td");
        const link = element("a", { href: `#${addressOf({ ...state, head: row.index })}`, "data-index": row.index }, label(row.index));
        link.addEventListener("click", (event) => {
          event.preventDefault();
          choose(row.index);
        });
        head.append(link);
        line.append(element("td", {}, place + 1), head, element("td", {}, shown(row.value) + (row.ends.length ? ` [${row.ends.map(shown).join(", ")}]` : "")));
        line.append(element("td", {}, row.inside ? "inside" : byRelation || data.inside[measure.measure] ? "outside" : "–"));
        return line;
      }),
    );
  };

  // --- figures ---------------------------------------------------------------------------------------------------------
  // Of the text around them, so that figures need not be drawn anew in the dark or on paper.
  const INK = "currentColor";
  const [LINE, MARK] = ["#2b8cc4", "#d55e00"];
  const draw = (id, spec) => {
    const look = {
      background: "transparent",
      font: "system-ui, DejaVu Sans, sans-serif",
      view: { stroke: "transparent" },
      axis: { labelFontSize: 12, titleFontSize: 12, labelColor: INK, titleColor: INK, domainColor: INK, tickColor: INK, gridColor: "#88888840", titleFontWeight: 500 },
      legend: { labelFontSize: 12, titleFontSize: 12, labelColor: INK, titleColor: INK },
      text: { color: INK },
    };
    const options = { actions: false, renderer: "svg", ast: true, config: look };
    return vegaEmbed(find(id), { $schema: data.schema, ...spec }, options).then((made) => made.view);
  };
  const axisOf = (name, channel) => {
    const measure = byName.get(name);
    const type = measure.kind === "name" ? "nominal" : "quantitative";
    const title = `${measure.title}${unit(measure)}`;
    const axis = type === "nominal" ? { labelAngle: channel === "x" ? -30 : 0 } : {};
    return { field: channel, type, title, axis: { ...axis, titleLimit: 420 }, scale: type === "quantitative" ? { zero: false } : {} };
  };
  let scatter = null;
  const drawScatter = () => {
    const [xs, ys] = [data.values[state.measure], data.values[state.second]];
    const points = [];
    for (let index = 0; index < places; index++) {
      if (xs[index] === null || ys[index] === null) continue;
      points.push({ index, x: xs[index], y: ys[index], layer: Math.floor(index / data.heads) + 1, head: (index % data.heads) + 1 });
    }
    const [one, other] = [byName.get(state.measure), byName.get(state.second)];
    const tooltip = ["layer", "head"].map((field) => ({ field }));
    tooltip.push({ field: "x", title: one.title }, { field: "y", title: other.title });
    draw("scatter", {
      description: `${one.title} against ${other.title}, a point a head`,
      width: Math.min(440, Math.max(find("scatter").clientWidth - 130, 180)),
      height: 320,
      data: { values: points },
      params: [{ name: "chosen", value: state.head }],
      encoding: { x: axisOf(state.measure, "x"), y: axisOf(state.second, "y"), tooltip },
      layer: [
        {
          mark: { type: "circle", size: 70, opacity: 0.85, stroke: INK, strokeWidth: 0.6, cursor: "pointer" },
          encoding: { color: { field: "layer", type: "quantitative", title: "Layer", scale: { scheme: "viridis", domain: [1, Math.max(data.layers, 2)] }, legend: { tickMinStep: 1, format: "d" } } },
        },
        {
          transform: [{ filter: "datum.index === chosen" }],
          mark: { type: "point", size: 220, strokeWidth: 3, color: MARK },
        },
      ],
    }).then((view) => {
      scatter = view;
      view.addEventListener("click", (_, item) => {
        if (item && item.datum && item.datum.index !== undefined) choose(item.datum.index);
      });
    });
    const isPair = (row) => [row.measure_a, row.measure_b].includes(one.measure) && [row.measure_a, row.measure_b].includes(other.measure);
    const pair = one.measure === other.measure ? undefined : data.correlations.find(isPair);
    find("scatter-note").textContent = pair
      ? `Spearman ${shown(pair.spearman)} [${shown(pair.ci_low)}, ${shown(pair.ci_high)}] over ${pair.n} heads; within layers ${shown(pair.within_layers)}, ${pair.definitional ? "not tested: the two go together by their definitions" : pair.p_holm === null ? "not tested, or with too few shuffles for Holm's correction" : `p = ${shown(pair.p_holm)} after Holm over all pairs of measures`}.`
      : `${points.length} heads; no rank correlation: a measure has fewer than five different values, is a part of another one, or is no number.`;
  };

  // --- the card --------------------------------------------------------------------------------------------------------
  const weightsOf = (sentence, head) => {
    if (!sentence.weights) {
      const text = atob(sentence.data);
      sentence.weights = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
    }
    const size = sentence.tokens.length ** 2;
    return sentence.weights.subarray(head * size, (head + 1) * size);
  };
  const drawSentence = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    const n = sentence.tokens.length;
    const weights = weightsOf(sentence, state.head);
    const rows = [];
    for (let from = 0; from < n; from++) {
      for (let to = 0; to < n; to++) {
        rows.push({ from, to, query: sentence.tokens[from], key: sentence.tokens[to], weight: weights[from * n + to] / 255, left: 0, right: 1 });
      }
    }
    const tokens = sentence.tokens.map((token, place) => ({ token, place }));
    const line = { title: null, axis: null, scale: { domain: [-0.5, n - 0.5], reverse: true } };
    const side = (x, align, dx) => ({
      data: { values: tokens },
      mark: { type: "text", align, dx, fontSize: 12, baseline: "middle" },
      encoding: { x: { datum: x, type: "quantitative", scale: { domain: [0, 1] }, axis: null }, y: { field: "place", type: "quantitative", ...line }, text: { field: "token" } },
    });
    draw("lines", {
      description: `Attention of ${label(state.head)}: a line from each piece on the left to those that it attends to`,
      width: Math.max(Math.min(180, find("lines").clientWidth - 184), 60),
      height: 15 * n,
      padding: { left: 90, right: 90, top: 5, bottom: 5 },
      autosize: "none",
      layer: [
        {
          data: { values: rows.filter((row) => row.weight >= 0.02) },
          mark: { type: "rule", strokeWidth: 2, color: LINE },
          encoding: {
            x: { field: "left", type: "quantitative", scale: { domain: [0, 1] }, axis: null },
            x2: { field: "right" },
            y: { field: "from", type: "quantitative", ...line },
            y2: { field: "to" },
            opacity: { field: "weight", type: "quantitative", scale: { domain: [0, 1], range: [0.03, 1] }, legend: null },
            tooltip: [{ field: "query", title: "from" }, { field: "key", title: "to" }, { field: "weight", format: ".3f" }],
          },
        },
        side(0, "right", -5),
        side(1, "left", 5),
      ],
    });
    const named = { labelExpr: `[${sentence.tokens.map((token) => JSON.stringify(token)).join(",")}][datum.value]`, labelFontSize: 12, ticks: false, domain: false };
    draw("matrix", {
      description: `Attention of ${label(state.head)} as a matrix, a row a piece that attends`,
      width: 16 * n,
      height: 16 * n,
      data: { values: rows },
      mark: { type: "rect" },
      encoding: {
        x: { field: "to", type: "ordinal", title: "attended to", axis: { ...named, labelAngle: -60, orient: "top" } },
        y: { field: "from", type: "ordinal", title: "attending", axis: named },
        color: { field: "weight", type: "quantitative", title: "Weight", scale: { scheme: "viridis", domain: [0, 1] } },
        tooltip: [{ field: "query", title: "from" }, { field: "key", title: "to" }, { field: "weight", format: ".3f" }],
      },
    });
    const strongest = [...rows].sort((one, other) => other.weight - one.weight).slice(0, 5);
    find("strongest").textContent = `Strongest: ${strongest.map((row) => `${row.query} → ${row.key} ${row.weight.toFixed(2)}`).join("; ")}. Weights are stored in steps of 1/255.`;
  };
  // --- all heads on a sentence -----------------------------------------------------------------------------------------
  const [MAP, GAP, MARGIN] = [44, 4, 24];
  const drawAllHeads = () => {
    if (!data.sentences.length) return;
    const sentence = data.sentences[state.sentence];
    const n = sentence.tokens.length;
    const colours = data.ramps.plain.map((colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
    const canvas = find("all");
    canvas.width = MARGIN + data.heads * (MAP + GAP);
    canvas.height = MARGIN + data.layers * (MAP + GAP);
    const drawing = canvas.getContext("2d");
    drawing.imageSmoothingEnabled = false;
    drawing.fillStyle = getComputedStyle(document.body).color;
    drawing.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
    drawing.font = "12px system-ui, DejaVu Sans, sans-serif";
    drawing.textAlign = "center";
    drawing.textBaseline = "middle";
    const at = (place) => MARGIN + place * (MAP + GAP);
    for (let head = 0; head < data.heads; head++) drawing.fillText(head + 1, at(head) + MAP / 2, MARGIN / 2);
    for (let layer = 0; layer < data.layers; layer++) drawing.fillText(layer + 1, MARGIN / 2, at(layer) + MAP / 2);
    const small = document.createElement("canvas");
    [small.width, small.height] = [n, n];
    const picture = small.getContext("2d");
    for (let index = 0; index < places; index++) {
      const image = picture.createImageData(n, n);
      weightsOf(sentence, index).forEach((weight, cell) => {
        const colour = colours[Math.round((weight / 255) * (colours.length - 1))];
        image.data.set([...colour, 255], 4 * cell);
      });
      picture.putImageData(image, 0, 0);
      const [x, y] = [at(index % data.heads), at(Math.floor(index / data.heads))];
      drawing.drawImage(small, x, y, MAP, MAP);
      if (index === state.head) {
        drawing.lineWidth = 3;
        drawing.strokeRect(x - 1, y - 1, MAP + 2, MAP + 2);
      }
    }
  };
  const headAt = (event) => {
    const [column, row] = [event.offsetX, event.offsetY].map((place) => Math.floor((place - MARGIN) / (MAP + GAP)));
    return column >= 0 && column < data.heads && row >= 0 && row < data.layers ? row * data.heads + column : null;
  };

  // --- what a head attends to in the corpus ------------------------------------------------------------------------------
  const fillEvidence = () => {
    const { texts, pairs, kinds } = data.evidence;
    if (!pairs.length) return;
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    find("kinds").tBodies[0].replaceChildren(
      ...(kinds[state.head][find("kinds-of").value] || []).map(([kind, share, even]) => {
        const row = element("tr");
        row.append(element("th", { scope: "row" }, kind), element("td", {}, percent(share)), element("td", {}, percent(even)));
        row.append(element("td", {}, even > 0 ? (share / even).toFixed(1) : "–"));
        return row;
      }),
    );
    find("pairs").replaceChildren(
      ...pairs[state.head].map(([sentence, query, key, weight]) => {
        const item = element("li");
        texts[sentence].split(" ").forEach((word, place) => {
          item.append(place === query ? element("b", {}, word) : place === key ? element("u", {}, word) : word, " ");
        });
        item.append(`(${weight.toFixed(2)})`);
        return item;
      }),
    );
  };

  // The value of a head among those of all heads, with its interval, and the null distribution behind it.
  const [STRIP, STRIP_HEIGHT] = [130, 16];
  const strip = (measure) => {
    const values = data.values[measure.measure];
    const value = values[state.head];
    if (measure.kind === "name" || value === null) return "";
    const range = nullOf(measure, state.head);
    const ends = intervalOf(measure, state.head);
    const all = [...values.filter((one) => one !== null), ...ends, ...(range ? [range.low, range.high] : [])];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const at = (one) => (high > low ? 4 + ((one - low) / (high - low)) * (STRIP - 8) : STRIP / 2);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const mark = (name, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, one] of Object.entries(attributes)) made.setAttribute(key, one);
      svg.append(made);
    };
    for (const [key, one] of Object.entries({ width: STRIP, height: STRIP_HEIGHT, role: "img", class: "strip" })) svg.setAttribute(key, one);
    svg.setAttribute("aria-label", `All heads: ${shown(low)} to ${shown(high)}; ${nullWords(measure, state.head)}`);
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = svg.getAttribute("aria-label");
    svg.append(title);
    const middle = STRIP_HEIGHT / 2;
    mark("line", { x1: at(low), x2: at(high), y1: middle, y2: middle, class: "extent" });
    if (range) mark("rect", { x: at(range.low) - 1, width: Math.max(at(range.high) - at(range.low), 0) + 2, y: 1, height: STRIP_HEIGHT - 2, class: "null" });
    if (ends.length) mark("line", { x1: at(ends[0]), x2: at(ends[1]), y1: middle, y2: middle, class: "interval" });
    mark("circle", { cx: at(value), cy: middle, r: 3.5, class: isInside(measure.measure, state.head) ? "value inside" : "value" });
    return svg;
  };
  // Accuracy on "the head's first relation" names that relation.
  const titleOf = (measure) => {
    const about = measure.about && data.values[measure.about]?.[state.head];
    return about && about !== "none" ? `${measure.title}: ${about.replaceAll("_", " ")}` : measure.title;
  };
  const fillCard = () => {
    find("card-title").textContent = label(state.head).replace("layer", "Layer");
    const body = find("values").tBodies[0];
    body.replaceChildren();
    const group = find("group").value;
    for (const measure of there.filter((one) => !group || one.group === group)) {
      const value = data.values[measure.measure][state.head];
      const row = element("tr", { "data-measure": measure.measure });
      if ([state.measure, state.second].includes(measure.measure)) row.className = "shown";
      row.append(element("th", { scope: "row", title: `${measure.study}, ${measure.item}; ${measure.model}` }, `${titleOf(measure)}${unit(measure)}`));
      const ends = intervalOf(measure, state.head);
      const interval = value === null || !ends.length ? "" : ` [${ends.map(shown).join(", ")}]`;
      if (isInside(measure.measure, state.head)) row.classList.add("inside");
      row.append(element("td", {}, typeof value === "string" ? value.replaceAll("_", " ") : shown(value) + interval));
      const drawn = element("td");
      drawn.append(strip(measure));
      row.append(drawn);
      const percentile = element("td");
      const rank = data.percentiles[measure.measure]?.[state.head];
      if (rank !== null && rank !== undefined) {
        percentile.append(element("span", { class: "bar", style: `width: ${rank * 0.6}px`, "aria-hidden": "true" }), rank.toFixed(0));
      }
      row.append(percentile, element("td", {}, examples(measure)));
      body.append(row);
    }
    const relations = data.relations[state.head] || [];
    find("relations-part").hidden = !data.relations.length;
    find("relations").hidden = !relations.length;
    find("no-relations").hidden = relations.length > 0;
    find("relations").tBodies[0].replaceChildren(
      ...relations.map((relation) => {
        const row = element("tr");
        row.append(element("th", { scope: "row" }, relation.relation));
        row.append(element("td", {}, relation.direction.replaceAll("_", " ")));
        const percent = (share) => (100 * share).toFixed(1);
        for (const share of [relation.accuracy, relation.baseline]) row.append(element("td", {}, `${percent(share)} %`));
        row.append(element("td", {}, `${percent(relation.margin)} [${percent(relation.low)}, ${percent(relation.high)}]`));
        row.append(element("td", {}, relation.n));
        return row;
      }),
    );
    fillEvidence();
    drawSentence();
    drawAllHeads();
  };

  // --- what is chosen --------------------------------------------------------------------------------------------------
  const addressOf = (shownState) => {
    const place = `${Math.floor(shownState.head / data.heads) + 1}-${(shownState.head % data.heads) + 1}`;
    return new URLSearchParams({ head: place, measure: shownState.measure, against: shownState.second });
  };
  const remember = () => history.replaceState(null, "", `#${addressOf(state)}`);
  const choose = (index) => {
    buttons[state.head].setAttribute("aria-pressed", "false");
    state.head = index;
    buttons.forEach((button, place) => (button.tabIndex = place === index ? 0 : -1));
    buttons[index].setAttribute("aria-pressed", "true");
    if (scatter) scatter.signal("chosen", index).run();
    fillCard();
    remember();
    // On a phone the card is far below what was tapped.
    if (matchMedia("(max-width: 48rem)").matches) find("card").scrollIntoView();
  };
  const drawAll = () => {
    paintGrid();
    fillRanking();
    drawScatter();
    fillCard();
  };
  const recall = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const [layer, head] = (said.get("head") || "").split("-").map(Number);
    if (layer >= 1 && layer <= data.layers && head >= 1 && head <= data.heads) state.head = (layer - 1) * data.heads + head - 1;
    const known = (name) => there.some((measure) => measure.measure === name);
    if (known(said.get("measure"))) state.measure = said.get("measure");
    if (known(said.get("against"))) state.second = said.get("against");
  };
  const dark = () => document.documentElement.dataset.theme === "dark";
  const setTheme = (name) => {
    document.documentElement.dataset.theme = name;
    find("theme").textContent = name === "dark" ? "Light" : "Dark";
    find("theme").setAttribute("aria-pressed", String(name === "dark"));
    drawAllHeads();
  };

  recall();
  for (const id of ["measure", "second"]) {
    const groups = new Map();
    for (const measure of there) {
      if (!groups.has(measure.group)) groups.set(measure.group, element("optgroup", { label: measure.group }));
      groups.get(measure.group).append(element("option", { value: measure.measure }, `${measure.title}${unit(measure)}`));
    }
    find(id).append(...groups.values());
    find(id).value = state[id];
    find(id).addEventListener("change", () => {
      state[id] = find(id).value;
      if (id === "measure" && byName.get(state.measure).kind === "number") find("rank-by").value = state.measure;
      drawAll();
      remember();
    });
  }
  const numbers = element("optgroup", { label: "Measures" });
  numbers.append(...there.filter((measure) => measure.kind === "number").map((measure) => element("option", { value: measure.measure }, `${measure.title}${unit(measure)}`)));
  const kinds = [...new Set(data.relations.flat().map((row) => row.relation))].sort();
  const followed = element("optgroup", { label: "Relations: which heads follow" });
  followed.append(...kinds.map((kind) => element("option", { value: RELATION + kind }, kind)));
  find("rank-by").append(numbers, ...(kinds.length ? [followed] : []));
  if (byName.get(state.measure).kind === "number") find("rank-by").value = state.measure;
  find("group").append(element("option", { value: "" }, "all groups"), ...[...new Set(there.map((measure) => measure.group))].map((name) => element("option", { value: name }, name)));
  find("group").addEventListener("change", fillCard);
  find("rank-by").addEventListener("change", fillRanking);
  find("grey").addEventListener("change", paintGrid);
  find("evidence-part").hidden = !data.evidence.pairs.length;
  if (data.evidence.kinds.length) {
    find("kinds-of").append(...Object.keys(data.evidence.kinds[0]).reverse().map((name) => element("option", { value: name }, name)));
    find("kinds-of").addEventListener("change", fillEvidence);
  }
  find("sentence-part").hidden = !data.sentences.length;
  find("shown-note").textContent = data.shown_note;
  data.sentences.forEach((sentence, place) => find("sentence").append(element("option", { value: place }, sentence.text)));
  find("sentence").addEventListener("change", () => {
    state.sentence = Number(find("sentence").value);
    drawSentence();
    drawAllHeads();
  });
  find("all").addEventListener("click", (event) => {
    const index = headAt(event);
    if (index !== null) choose(index);
  });
  const absent = data.measures.filter((measure) => measure.note);
  find("absent").append(...absent.map((measure) => element("li", {}, `${measure.title} (${measure.study}): ${measure.note}`)));
  if (!absent.length) find("absent").closest("details").hidden = true;
  const system = matchMedia("(prefers-color-scheme: dark)");
  setTheme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
  find("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
  // Paper is white.
  let before = null;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    setTheme("light");
  });
  addEventListener("afterprint", () => setTheme(before));
  buildGrid();
  drawAll();
  buttons.forEach((button, place) => (button.tabIndex = place === state.head ? 0 : -1));
})();
