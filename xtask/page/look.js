// Finds visible defects on the page of a comparison. Run in the page itself; each function returns
// its findings, one line of text each.
'use strict';

const LEAST_TEXT_PX = 11;
const FINDINGS_SHOWN = 6;

const select = (selector, root = document) => [...root.querySelectorAll(selector)];
const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
const name = (element) => {
  const id = element.closest('[id]')?.id ?? 'page';
  const classes = element.getAttribute('class')?.split(' ').join('.');
  const text = element.textContent.trim().replace(/\s+/g, ' ').slice(0, 40);
  return `#${id} ${element.localName}${classes ? `.${classes}` : ''} "${text}"`;
};

/** The first findings, and how many there are. */
function few(what, elements) {
  if (elements.length === 0) {
    return [];
  }
  const shown = elements.slice(0, FINDINGS_SHOWN).map((one) =>
    one instanceof Element ? name(one) : one);
  return [`${what}, ${elements.length} times: ${shown.join('; ')}`];
}

/** Whether an element scrolls horizontally by itself. */
const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);

function pageOverflow() {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth
    ? [`the page scrolls sideways: ${scrollWidth} px in ${clientWidth} px`]
    : [];
}

/** Boxes whose text overflows. */
function textOverflow() {
  const over = select('body *').filter((element) =>
    element instanceof HTMLElement && element.clientWidth > 0
    && element.scrollWidth > element.clientWidth + 1
    && !element.closest('.unseen, .skip') && isSeen(element) && !scrolls(element));
  return few('text goes over the edge of its box', over);
}

/** Text in drawings must be inside the drawing, not overlap, and be large enough. */
function drawnText() {
  const texts = select('svg text').filter(isSeen);
  const outside = texts.filter((text) => {
    const box = text.closest('svg').getBoundingClientRect();
    const own = text.getBoundingClientRect();
    return own.left < box.left - 1 || own.right > box.right + 1
      || own.top < box.top - 1 || own.bottom > box.bottom + 1;
  });
  const small = texts.filter((text) =>
    parseFloat(getComputedStyle(text).fontSize) * Math.abs(text.getScreenCTM().a)
      < LEAST_TEXT_PX);
  const touching = [];
  for (const drawing of new Set(texts.map((text) => text.closest('svg')))) {
    const boxes = select('text', drawing).map((text) => [text, text.getBoundingClientRect()]);
    boxes.forEach(([text, one], place) => {
      const meets = boxes.slice(place + 1).some(([, other]) => one.left < other.right
        && other.left < one.right && one.top < other.bottom && other.top < one.bottom);
      if (meets) {
        touching.push(text);
      }
    });
  }
  return [
    ...few('text is outside of its drawing', outside),
    ...few(`text of a drawing is smaller than ${LEAST_TEXT_PX} px`, small),
    ...few('labels of an axis touch each other', touching),
  ];
}

/** Text on the page must not be smaller than that of an axis. */
function smallText() {
  const small = select('body *').filter((element) =>
    element instanceof HTMLElement && isSeen(element)
    && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE
      && node.data.trim() !== '')
    && parseFloat(getComputedStyle(element).fontSize) < LEAST_TEXT_PX);
  return few(`text is smaller than ${LEAST_TEXT_PX} px`, small);
}

/** A number, an interval or a number with its unit: one word for a reader. */
const NUMBER = new RegExp('(?<![\\p{L}\\d])\\d[\\d.,]*(?:[–:]\\d[\\d.,]*)*'
  + '(?:[ \\u00a0](?:%|×|µs|ms|s|[KMGT]iB|MHz))?(?![\\p{L}\\d])', 'gu');

/** Numbers that are broken across lines. */
function brokenNumbers() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const broken = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!/\d.*\d|\d /.test(node.data) || element.closest('pre, code, script, style, .path')
      || !isSeen(element)) {
      continue;
    }
    for (const { 0: number, index } of node.data.matchAll(NUMBER)) {
      range.setStart(node, index);
      range.setEnd(node, index + number.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) {
        broken.push(`"${number}" in ${name(element)}`);
      }
    }
  }
  return few('a number goes on in the next line', broken);
}

/** Legends must name exactly what their drawing shows, in its colours. */
function legends() {
  const wrong = [];
  for (const figure of select('figure').filter(isSeen)) {
    for (const entry of select('.legend > [data-engine]', figure)) {
      const classes = [...entry.classList].map((one) => `.${one}`).join('');
      const drawn = select(`.mark${classes}, ${classes} > .mark`, figure);
      const colour = (element) => getComputedStyle(element).getPropertyValue('--c').trim();
      if (drawn.length === 0) {
        wrong.push(`${name(entry)} is not drawn`);
      } else if (drawn.some((mark) => colour(mark) !== colour(entry))) {
        wrong.push(`${name(entry)} has another colour`);
      }
    }
  }
  return few('a legend does not fit its drawing', wrong);
}

/** An engine must have the same colour everywhere. */
function colours() {
  const seen = new Map();
  // Grey bars are those of engines without a card.
  for (const element of select('[data-engine]:not(.other)').filter(isSeen)) {
    const colour = getComputedStyle(element).getPropertyValue('--c').trim();
    const engine = element.dataset.engine;
    seen.set(engine, (seen.get(engine) ?? new Set()).add(colour));
  }
  const several = [...seen].filter(([, colours]) => colours.size > 1);
  return few('an engine has several colours',
    several.map(([engine, colours]) => `${engine} (${[...colours].join(', ')})`));
}

/** Elements that scroll horizontally must show it, and be reachable with the keyboard. */
function scrollCues() {
  const silent = select('.scroll').filter((element) => isSeen(element)
    && element.scrollWidth > element.clientWidth + 1
    && (element.tabIndex !== 0 || !element.previousElementSibling.matches('.cue:not([hidden])')));
  return few('what scrolls sideways does not say so', silent);
}

/** Everything that can be seen without a click. */
function everything() {
  return [
    ...pageOverflow(), ...textOverflow(), ...drawnText(), ...smallText(), ...brokenNumbers(),
    ...legends(), ...colours(), ...scrollCues(),
  ];
}

/** Findings of axe-core. */
async function accessibility(options = {}) {
  const { violations } = await axe.run(document, { resultTypes: ['violations'], ...options });
  return violations.map(({ id, impact, help, nodes }) =>
    `axe: ${id} (${impact}), ${nodes.length} times: ${help}: ${nodes[0].target.join(' ')}`);
}

/** Text with too little contrast, and engines with inconsistent colours. */
async function contrast() {
  return [...colours(), ...await accessibility({ runOnly: ['color-contrast'] })];
}

/** Expands everything, and waits for the new layout. */
async function unfold() {
  select('details').forEach((part) => { part.open = true; });
  for (const _ of [1, 2, 3]) {
    await new Promise(requestAnimationFrame);
  }
}

const ranking = () => document.querySelector('.ranking');
const shownBars = () => select('.bars li', ranking()).filter(isSeen);
const number = (bar) => parseFloat(bar.querySelector('.value').textContent);
const isRanked = (bars) => bars.map(number).filter((one) => one >= 0)
  .every((one, place, all) => place === 0 || all[place - 1] <= one);
const must = (holds, what) => holds ? [] : [what];

/** Without scripts the bars must be there, ranked, without controls that do nothing. */
function withoutScripts() {
  if (!ranking()) {
    return [];
  }
  select('details').forEach((part) => { part.open = true; });
  const bars = shownBars();
  return [
    ...must(bars.length > 0 && bars.every((bar) => bar.querySelector('.length').style.width),
      'without scripts there are no bars'),
    ...must(isRanked(bars), 'without scripts bars are not ranked'),
    ...must(select('button, select', document).every((one) => !isSeen(one)),
      'without scripts there are buttons'),
  ];
}

/** Focuses the first chip, as with the keyboard. */
function focusChip() {
  const chip = select('.chip', ranking()).find((one) => isSeen(one));
  chip?.focus();
  return must(chip && document.activeElement === chip, 'no engine can be left out by a key');
}

/** After the chip was pressed with the keyboard, its engines must be hidden, and it must say so. */
function chipIsOff() {
  const chip = document.activeElement;
  const { kind, group, name: engine } = chip.dataset;
  const still = shownBars().filter((bar) => engine ? bar.dataset.engine === engine
    : bar.dataset.kinds.split(' ')[group] === kind);
  const said = select('.said', ranking())[0].textContent;
  return [
    ...must(chip.getAttribute('aria-pressed') === 'false', 'a chip does not say its state'),
    ...must(still.length === 0, 'a chip that is off hides nothing'),
    ...must(said.startsWith(`${shownBars().length} of `), 'it is not said how many are shown'),
  ];
}

/** Every ranking measure must rank, and show the numbers of the tables. */
function metrics() {
  const [metric, test] = select('.metric, .test-of', ranking());
  const findings = [];
  for (const one of metric.options) {
    for (const number of [...test.options].slice(0, 3)) {
      metric.value = one.value;
      test.value = number.value;
      metric.dispatchEvent(new Event('change'));
      const bars = shownBars();
      const name = `${one.value}, test "${number.value}"`;
      const unit = /KiB|MiB|GiB| s|ms|µs/.test(ranking().querySelector('.value').textContent);
      findings.push(...must(unit || isRanked(bars), `not ranked by ${name}`));
      const lengths = bars.map((bar) => parseFloat(bar.querySelector('.length').style.width));
      const grow = lengths.slice(1).every((length, place) =>
        length >= lengths[place] || length === 0);
      findings.push(...must(grow, `bars do not grow by ${name}`));
    }
  }
  metric.selectedIndex = 0;
  test.selectedIndex = 0;
  metric.dispatchEvent(new Event('change'));
  return findings;
}

/** A link into a collapsed part must expand it. */
async function linksUnfold() {
  const findings = [];
  for (const link of select('.contents a').filter(isSeen)) {
    link.click();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const target = document.querySelector(link.getAttribute('href'));
    findings.push(...must(isSeen(target) && (target.closest('details')?.open ?? true),
      `${link.textContent} leads into a folded part`));
  }
  return findings;
}
