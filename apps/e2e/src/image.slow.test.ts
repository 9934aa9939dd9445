/** Runs the programs from the files that the Dockerfile copies, as no Docker engine is needed for that. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { listImageFiles } from '@rapport/testing/deployment/build-context.ts'
import { root } from '@rapport/testing/conventions/repository-texts.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

let image: string

beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), 'rapport-image-'))
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8')
  await Promise.all(listImageFiles().map((path) => cp(join(root, path), join(image, path))))
  const manifests = dockerfile.match(/(?<=^COPY )(apps|packages)\S+(?=package\.json)/gm) ?? []
  await Promise.all(['', ...manifests].map(linkDependencies))
})
afterAll(() => rm(image, { recursive: true, force: true }))

/** Only what "pnpm install --prod" installs for the packages whose manifests the Dockerfile copies. */
async function linkDependencies(folder: string) {
  const manifest = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Manifest
  const modules = join(image, folder, 'node_modules')
  await mkdir(modules, { recursive: true })
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    const installed = await realpath(join(root, folder, 'node_modules', name))
    const isOurs = name.startsWith('@rapport/')
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(isOurs ? join(image, relative(root, installed)) : installed, join(modules, name))
  }
}

interface Manifest {
  dependencies?: Record<string, string>
}

function run(command: string, parameters: string[], environment: Record<string, string> = {}) {
  const { PATH = '' } = inheritedEnvironment()
  const options = { cwd: image, env: { PATH, ...environment } }
  return promisify(execFile)(command, parameters, options).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { code, output: stdout + stderr }
    },
  )
}

test.each(['api', 'worker', 'migrate'])('"rapport %s" starts, and names the missing variables', async (program) => {
  const { code, output } = await run('bin/rapport', [program])
  expect(output).toContain('DATABASE_URL: must be set')
  expect(code).toBe(78)
})

test('the command line runs', async () => {
  expect(await run('bin/rapport', ['--help'])).toMatchObject({ code: 0, output: expect.stringContaining('doctor') })
})

test.each([
  ['PORT', 200, 0],
  ['WORKER_PORT', 200, 0],
  ['PORT', 503, 1],
])('with a program on %s that responds with %i the health check exits with %i', async (name, status, code) => {
  const requests: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    requests.push(url)
    response.writeHead(status).end()
  })
  await new Promise<void>((started) => server.listen(0, '127.0.0.1', started))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const ports = { PORT: String(await findFreePort()), WORKER_PORT: String(await findFreePort()) }
  const { port } = server.address() as AddressInfo
  const command = ['ops/docker/health-check.ts']
  expect((await run(process.execPath, command, { ...ports, [name]: String(port) })).code).toBe(code)
  expect(requests).toEqual(['/health'])
})

test('an API stays ready while the files of a newer release replace its own', async () => {
  const database = await createTestDatabase()
  const readyUrl = `http://127.0.0.1:${await findFreePort()}/ready`
  const env = {
    DATABASE_URL: database.url,
    PORT: new URL(readyUrl).port,
    PUBLIC_URL: 'http://localhost',
    MAIL_FROM: 'hello@rapport.example',
    SECRET_KEY: 'for tests only: forty characters or more of it',
  }
  const api = await startCommand({ command: join(image, 'bin/rapport'), parameters: ['api'], env, readyUrl })
  onTestFinished(async () => {
    api.kill()
    await api.exited
    await database.close()
  })
  const path = join(image, 'drizzle/meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: { when: number; tag: string }[] }
  journal.entries.push({ when: 4e12, tag: '9999_next' })
  await writeFile(path, JSON.stringify(journal))
  expect(await (await fetch(readyUrl)).json()).toMatchObject({ parts: { database: 'up' } })
})
