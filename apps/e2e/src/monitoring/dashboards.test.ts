/** The Grafana dashboards follow the rules of Grafana's dashboard linter, and show every metric. */
import { expect, test } from 'vitest'
import { dashboards, type Panel, readText } from './ops-files.ts'

const contentPanels = ({ panels }: { panels: Panel[] }) => panels.filter(({ type }) => type !== 'row')
const datasource = { type: 'prometheus', uid: '${datasource}' }

test('each dashboard has an address, a description, and links to the other one', () => {
  expect(dashboards.map(([name, { uid }]) => [name, uid])).toEqual([
    ['rapport-business', 'rapport-business'],
    ['rapport', 'rapport'],
  ])
  expect(new Set(dashboards.map(([, { title }]) => title)).size).toBe(dashboards.length)
  for (const [, { description, tags, links, templating }] of dashboards) {
    expect(description).not.toBe('')
    expect(tags).toContain('rapport')
    expect(links).toMatchObject([{ type: 'dashboards', tags: ['rapport'] }])
    expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource', query: 'prometheus' }])
  }
})

test.each(dashboards)('every panel of %s has a title, a description, a unit and queries', (_name, dashboard) => {
  const panels = contentPanels(dashboard)
  const incomplete = panels.filter(
    ({ title, description, fieldConfig, targets }) =>
      !title || !description?.endsWith('.') || !fieldConfig?.defaults.unit || !targets?.length,
  )
  expect(incomplete.map(({ title }) => title)).toEqual([])
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

test.each(dashboards)('every query of %s uses the data source that the user selects', (_name, dashboard) => {
  for (const panel of contentPanels(dashboard)) {
    expect(panel.datasource).toEqual(datasource)
    for (const target of panel.targets ?? []) expect(target.datasource).toEqual(datasource)
    const refIds = (panel.targets ?? []).map(({ refId }) => refId)
    expect(new Set(refIds).size).toBe(refIds.length)
  }
})

test.each(dashboards)('the panels of %s fill the width of 24 columns and do not overlap', (_name, { panels }) => {
  const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
    Array.from({ length: h * w }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  const height = Math.max(...panels.map(({ gridPos: { h, y } }) => y + h))
  expect(cells).toHaveLength(24 * height)
  expect(cells.every((cell) => Number(cell.split(',')[0]) < 24)).toBe(true)
})

test('every metric of Rapport is on a dashboard', () => {
  const documented = new Set(readText('docs/operations.md').match(/(?<=^\| `)rapport_\w+/gm))
  const queries = dashboards.flatMap(([, { panels }]) => panels.flatMap(({ targets }) => targets ?? []))
  const shown = new Set(queries.flatMap(({ expr }) => expr.match(/\brapport_\w+/g) ?? []))
  const isShown = (name: string) => [name, `${name}_bucket`, `${name}_count`].some((series) => shown.has(series))
  expect(documented.size).toBeGreaterThan(20)
  expect([...documented].filter((name) => !isShown(name))).toEqual([])
})
