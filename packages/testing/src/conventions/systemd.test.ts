/** systemd reads the units of ops/systemd without an error. Typos in them show only in its log otherwise. */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { readRepositoryText } from './repository-texts.ts'

const root = resolve(import.meta.dirname, '../../../..')
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
/** Rapport is not installed in /opt on the machine of the tests. */
const isExpected = (line: string) => /: Command \/opt\/rapport\/\S+ is not executable: No such file/.test(line)

/** systemd.exec(5): settings of EnvironmentFile= override those of Environment=, in whatever order they stand. */
test('a copy of .env.example overrides no variable that a unit sets', () => {
  const assigned = [...readRepositoryText('.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)
  const units = globSync('ops/systemd/*', { cwd: root }).map(readRepositoryText)
  const withFile = units.filter((unit) => /^EnvironmentFile=/m.test(unit))
  expect(withFile).toHaveLength(4)
  const set = withFile.flatMap((unit) =>
    [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, settings = '']) => settings),
  )
  const names = set.flatMap((settings) => settings.split(' ').map((setting) => setting.split('=')[0]))
  expect(names).toContain('NODE_ENV')
  expect(names.filter((name) => assigned.includes(name))).toEqual([])
})

test.skipIf(!hasSystemd)('systemd accepts all units (needs systemd-analyze)', () => {
  const units = globSync('ops/systemd/*', { cwd: root })
  expect(units.length).toBeGreaterThan(5)
  const { stderr } = spawnSync('systemd-analyze', ['verify', ...units], { cwd: root, encoding: 'utf8' })
  const lines = stderr.split('\n').filter(Boolean)
  expect(lines.filter((line) => !isExpected(line))).toEqual([])
  expect(lines.filter(isExpected).length).toBeGreaterThan(0)
})
