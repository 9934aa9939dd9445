/** systemd reads the units of ops/systemd without an error. Typos in them show only in its log otherwise. */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../../..')
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
/** Rapport is not installed in /opt on the machine of the tests. */
const isExpected = (line: string) => /: Command \/opt\/rapport\/\S+ is not executable: No such file/.test(line)

test.skipIf(!hasSystemd)('systemd accepts all units (needs systemd-analyze)', () => {
  const units = globSync('ops/systemd/*', { cwd: root })
  expect(units.length).toBeGreaterThan(5)
  const { stderr } = spawnSync('systemd-analyze', ['verify', ...units], { cwd: root, encoding: 'utf8' })
  const lines = stderr.split('\n').filter(Boolean)
  expect(lines.filter((line) => !isExpected(line))).toEqual([])
  expect(lines.filter(isExpected).length).toBeGreaterThan(0)
})
