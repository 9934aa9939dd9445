/** The file for pm2, and the commands of docs/deployment.md that replace its processes. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readRepositoryText, root } from './repository-texts.ts'

const file = 'ops/pm2/ecosystem.config.cjs'

interface App {
  name: string
  env: Record<string, string | number>
}

/** Returns the processes that pm2 reads from the file in a shell with these variables. */
function readApps(environment: Record<string, string>): App[] {
  const { stdout } = spawnSync(process.execPath, ['--print', `JSON.stringify(require('./${file}').apps)`], {
    cwd: root,
    env: environment,
    encoding: 'utf8',
  })
  return JSON.parse(stdout) as App[]
}

const isApi = ({ name }: { name: string }) => name.includes('-api-')

test('pm2 sets SHUTDOWN_DELAY_MS of an API only if it is empty', () => {
  const read = (environment: Record<string, string>) =>
    readApps(environment)
      .filter(isApi)
      .map(({ env }) => env['SHUTDOWN_DELAY_MS'])
  expect(read({})).toEqual([5_000, 5_000])
  expect(read({ SHUTDOWN_DELAY_MS: '' })).toEqual([5_000, 5_000])
  expect(read({ SHUTDOWN_DELAY_MS: '15000' })).toEqual(['15000', '15000'])
})

/** `pm2 restart` keeps the directory of a process, so it would run the previous release again. */
test('the documented upgrade deletes and starts each process, workers first', () => {
  const [commands = ''] = /^for name in [^]*?^done\npm2 save$/m.exec(readRepositoryText('docs/deployment.md')) ?? []
  const { stdout } = spawnSync('/bin/sh', ['-c', `pm2() { echo "$*"; }\nsleep() { :; }\n${commands}`], {
    encoding: 'utf8',
  })
  const apps = readApps({})
  const inOrder = [...apps.filter((app) => !isApi(app)), ...apps.filter(isApi)]
  expect(stdout.trim().split('\n')).toEqual([
    ...inOrder.flatMap(({ name }) => [`delete ${name}`, `start ${file} --only ${name}`]),
    'save',
  ])
})
