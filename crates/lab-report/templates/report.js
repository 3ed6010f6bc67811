// The interactive selections on the page of a comparison. Without this script the page shows the
// same content: the bars are ranked as in the headline, with the numbers of its tables.
'use strict';
{
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const own = (cell) => cell.firstChild?.nodeType === Node.TEXT_NODE
    ? cell.firstChild.data.trim() : cell.textContent.trim();
  const factors = {
    KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, 'µs': 1e-6, ms: 1e-3, s: 1,
  };

  /** The amount that a text tells, parts of it added: "1.2 MiB + 30 MiB". */
  const amount = (text) => {
    const parts = [...text.matchAll(/(\d[\d.]*)(?: ([µ\w]+))?/g)];
    return parts.length === 0 ? NaN : parts.reduce(
      (sum, [, number, unit]) => sum + Number(number) * (factors[unit] ?? 1), 0);
  };

  /** What an engine has in the tables, by metric and test. */
  const reader = (run) => {
    const cells = (kind, name, over, test) => {
      for (const table of all(`#${run}-${kind}-times table.times`)) {
        const head = all('th[data-engine]', table).find((one) =>
          one.dataset.engine === name && one.hasAttribute('data-over') === over);
        const row = test ? table.tBodies[0].rows[test - 1]
          : table.tFoot.rows[over ? 1 : 0];
        if (head) {
          return row?.cells[head.cellIndex];
        }
      }
      return undefined;
    };
    const needs = (name, what) => {
      const table = document.getElementById(`${run}-needs`);
      const head = [...table.tHead.rows[0].cells];
      const column = head.findIndex((one) => own(one) === what);
      const row = [...table.tBodies[0].rows].find((one) => own(one.cells[0]) === name);
      return row?.cells[column];
    };
    return (name, metric, test) => {
      const [kind, over] = metric.split(' ');
      const cell = kind === 'needs' ? needs(name, metric.slice(kind.length + 1))
        : cells(kind, name, over !== undefined, test);
      const text = cell ? own(cell) : '–';
      const value = cell?.classList.contains('wrong') ? NaN : amount(text);
      return { text, value, cell };
    };
  };

  // The end mark of an interval has its own width.
  const shareOf = (value, most) => `${(value / most * 99).toFixed(2)}%`;

  for (const ranking of all('.ranking')) {
    const list = ranking.querySelector('.bars');
    const bars = all('li', list);
    const [metric, test] = ['.metric', '.test-of'].map((one) => ranking.querySelector(one));
    const chips = all('.chip', ranking);
    const read = reader(ranking.dataset.run);
    // The original content of the bars, with verdicts and the engine that others are divided by.
    const first = new Map(bars.map((bar) => [bar, bar.innerHTML]));
    const said = ranking.querySelector('.said');
    const by = ranking.querySelector('.by');
    const byFirst = by.textContent;

    const isShown = (bar) => {
      const kinds = bar.dataset.kinds.split(' ');
      return chips.every((chip) => chip.getAttribute('aria-pressed') === 'true'
        || (chip.dataset.name ? chip.dataset.name !== bar.dataset.engine
          : kinds[chip.dataset.group] !== chip.dataset.kind));
    };

    const draw = () => {
      const whole = metric.value.startsWith('needs');
      test.disabled = whole;
      const over = metric.value.endsWith(' over');
      const number = Number(test.value);
      const isFirst = metric.value === 'wall over' && number === 0;
      const found = new Map(bars.map((bar) => {
        bar.innerHTML = first.get(bar);
        const one = read(bar.dataset.engine, metric.value, whole ? 0 : number);
        const isBase = over && bar.querySelector('.value small') === null
          && one.cell === undefined;
        return [bar, isBase ? { text: '1', value: 1, isBase } : one];
      }));
      for (const bar of bars) {
        bar.hidden = !isShown(bar);
      }
      const high = (one) => {
        const interval = one.cell?.querySelector('small')?.textContent.split('–').map(Number);
        return over && interval?.length === 2 ? interval : [one.value, one.value];
      };
      const shown = bars.filter((bar) => !bar.hidden);
      const values = shown.map((bar) => found.get(bar)).filter(({ value }) => value >= 0);
      const most = Math.max(over ? 1 : 0, ...values.map((one) => high(one)[1])) || 1;
      list.style.setProperty('--one', over ? shareOf(1, most) : '');
      list.classList.toggle('no-base', !over);
      for (const bar of bars) {
        const one = found.get(bar);
        const [low, top] = high(one);
        bar.querySelector('.length').style.width = shareOf(one.value >= 0 ? one.value : 0, most);
        const range = bar.querySelector('.range');
        if (range) {
          range.hidden = !(top > low);
          range.style.left = shareOf(low, most);
          range.style.width = shareOf(top - low, most);
        }
        if (isFirst) {
          continue;
        }
        const value = bar.querySelector('.value');
        const strong = document.createElement('b');
        strong.textContent = one.text;
        strong.className = one.cell?.className.match(/slower|faster|wrong/)?.[0] ?? '';
        const small = document.createElement('small');
        small.textContent = over ? one.cell?.querySelector('small')?.textContent ?? '' : '';
        value.replaceChildren(strong, ' ', small);
        if (!over) {
          bar.querySelector('.who small').textContent = '';
        }
      }
      const rank = (bar) => {
        const { value } = found.get(bar);
        return value >= 0 ? value : Infinity;
      };
      // Equal ones keep their order.
      list.append(...[...bars].sort((one, other) =>
        rank(one) === rank(other) ? 0 : rank(one) - rank(other)));
      const what = metric.selectedOptions[0].textContent;
      const where = whole ? '' : `, ${test.selectedOptions[0].textContent}`;
      by.textContent = isFirst ? byFirst : `${what}${where}; shorter is better.${over
        ? ' The line is 1: the time of the engine named below.' : ''}`;
      said.textContent = `${shown.length} of ${bars.length} engines`;
    };

    ranking.addEventListener('click', ({ target }) => {
      const { all: value } = target.dataset;
      if (target.matches('.chip')) {
        const isPressed = target.getAttribute('aria-pressed') === 'true';
        target.setAttribute('aria-pressed', String(!isPressed));
      } else if (value) {
        chips.filter((chip) => chip.dataset.name)
          .forEach((chip) => chip.setAttribute('aria-pressed', value));
      } else {
        return;
      }
      draw();
    });
    metric.addEventListener('change', () => {
      // Not every workload has a sum over its tests.
      const has = (number) => bars.some((bar) =>
        read(bar.dataset.engine, metric.value, number).value >= 0);
      if (!metric.value.startsWith('needs') && !has(Number(test.value))) {
        const numbers = [...test.options].map((option) => Number(option.value));
        test.value = String(numbers.find(has) || '');
      }
      draw();
    });
    test.addEventListener('change', draw);
    ranking.querySelector('.controls').hidden = false;
    draw();
  }

  // A link into a collapsed part expands it.
  const show = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let part = target; part; part = part.parentElement) {
      if (part.localName === 'details') {
        part.open = true;
      }
    }
    target?.querySelector(':scope > details')?.setAttribute('open', '');
    target?.scrollIntoView();
  };
  addEventListener('hashchange', show);
  if (location.hash) {
    show();
  }

  for (const button of all('.unfold')) {
    const parts = all('details', button.closest('article')).filter((part) => part !== button.closest('details'));
    const isWhole = () => parts.every((part) => part.open);
    const name = () => { button.textContent = isWhole() ? 'Fold all' : 'Unfold all'; };
    button.addEventListener('click', () => {
      const open = !isWhole();
      parts.forEach((part) => { part.open = open; });
      name();
    });
    parts.forEach((part) => part.addEventListener('toggle', name));
    button.hidden = false;
  }

  // Marks elements that are wider than their container.
  const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const place = target.matches('.scroll') ? target : target.parentElement;
    const isWide = place.scrollWidth > place.clientWidth + 1;
    place.previousElementSibling.hidden = !isWide;
  }));
  for (const place of all('.scroll')) {
    const cue = document.createElement('p');
    cue.className = 'cue';
    cue.textContent = 'wider than the screen: scroll sideways';
    cue.hidden = true;
    place.before(cue);
    watch.observe(place);
    all(':scope > *', place).forEach((inner) => watch.observe(inner));
  }
}
