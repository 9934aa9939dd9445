/** systemd reads the units of ops/systemd without an error, and their commands set variables. Typos show only in its log. */
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

/** Runs the command of a unit as systemd does, with a program that prints a variable instead of Rapport. */
function printVariable(unit: string, name: string, environment: Record<string, string>): string {
  const [, text = ''] = /^ExecStart=\/bin\/sh -c '([^']+)'$/m.exec(readRepositoryText(`ops/systemd/${unit}`)) ?? []
  // systemd.service(5): systemd replaces every other "$" itself.
  expect(text.replaceAll('$$', '')).not.toContain('$')
  const script = text
    .replaceAll('$$', () => '$')
    .replaceAll('%i', '3001')
    .replaceAll('%S', '/var/lib')
    .replace(/\/opt\/rapport\/bin\/rapport .*/, `printenv ${name}`)
  const { stdout } = spawnSync('/bin/sh', ['-c', script], {
    env: { PATH: '/usr/bin:/bin', ...environment },
    encoding: 'utf8',
  })
  return stdout.trim()
}

test.each([
  { unit: 'rapport-api@.service', name: 'SHUTDOWN_DELAY_MS', byDefault: '5000', own: '15000' },
  {
    unit: 'rapport-backup.service',
    name: 'BACKUP_DIRECTORY',
    byDefault: '/var/lib/rapport-backups',
    own: '/mnt/off site/$backups',
  },
])('$unit sets $name only if it is empty', ({ unit, name, byDefault, own }) => {
  expect(printVariable(unit, name, {})).toBe(byDefault)
  expect(printVariable(unit, name, { [name]: '' })).toBe(byDefault)
  expect(printVariable(unit, name, { [name]: own })).toBe(own)
})

test('the port of an API is the instance name, whatever PORT is', () => {
  expect(printVariable('rapport-api@.service', 'PORT', { PORT: '' })).toBe('3001')
  expect(printVariable('rapport-api@.service', 'PORT', { PORT: '3000' })).toBe('3001')
})

test.skipIf(!hasSystemd)('systemd accepts all units (needs systemd-analyze)', () => {
  const units = globSync('ops/systemd/*', { cwd: root })
  expect(units.length).toBeGreaterThan(5)
  const { stderr } = spawnSync('systemd-analyze', ['verify', ...units], { cwd: root, encoding: 'utf8' })
  const lines = stderr.split('\n').filter(Boolean)
  expect(lines.filter((line) => !isExpected(line))).toEqual([])
  expect(lines.filter(isExpected).length).toBeGreaterThan(0)
})
