import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/bootstrap.ts'
import { readApiConfig, readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { addressesIn, dataDirectoryOf, projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { startInbox } from './inbox/inbox.ts'
import { openDataDirectory } from './data-directory.ts'
import type { DataDirectory } from './data-directory.ts'
import { startProgram, waitForLeftPrograms } from './processes.ts'
import type { ProgramName, RunningProgram } from './processes.ts'
import { choosePorts, completeEnvironment, databaseName, localApiUrl } from './settings.ts'
import type { Environment, Ports } from './settings.ts'
import type { Started } from './welcome.ts'

const graceMs = 30_000
const readyTimeoutMs = 60_000
const whoseDatabase = '(DATABASE_URL of your environment; without it PostgreSQL is started here)'

/** A start of everything that is under way or done. */
export interface Launch {
  /** Resolves when everything answers. Rejects when something did not start, or `stop` was called meanwhile. */
  readonly started: Promise<Started>
  /** Resolves, with a line to show, when a process ends that should not have. */
  readonly broken: Promise<string>
  /** Stops what was started, the last first, also in the middle of the start. Rejects when something had to be killed. */
  stop(): Promise<void>
  /** For leaving at once: what cannot end by itself is told to, and not waited for. */
  abandon(): void
}

/** What has to be undone, in the order it was done. */
type Undo = () => Promise<void> | void

/**
 * Starts everything that the environment does not name already: database, inbox, then the API and the worker.
 * `tell` hears what makes it take longer than usual.
 */
export function launch(given: Environment, tell: (line: string) => void): Launch {
  const stopping = new AbortController()
  const undo: Undo[] = []
  let abandonPostgres: Undo = () => {}
  const broken = Promise.withResolvers<string>()
  const started = start()
  started.catch(() => {})
  let stopped: Promise<void> | undefined
  return {
    started,
    broken: broken.promise,
    stop: () => (stopped ??= stop()),
    abandon: () => void abandonPostgres(),
  }

  async function start(): Promise<Started> {
    const directory = await openDataDirectory(dataDirectoryOf(given))
    undo.push(() => directory.release())
    const onWait = () => tell('Waiting for the processes of a start that was killed to end ...')
    await waitForLeftPrograms(directory.memory.processes, { graceMs, onWait, signal: stopping.signal })
    const ports = await choosePorts(given)
    const environment = completeEnvironment(given, ports, directory.memory)
    checkEnvironment(environment)
    stopping.signal.throwIfAborted()

    await settled([startPostgres(directory, ports), startMailInbox(directory, ports)])
    stopping.signal.throwIfAborted()
    const databaseUrl = environment['DATABASE_URL'] ?? ''
    await migrate(environment['DATABASE_DIRECT_URL'] || databaseUrl).catch((error: unknown) => {
      throw ports.postgres === undefined ? new Error(`${messageOf(error)} ${whoseDatabase}`, { cause: error }) : error
    })
    stopping.signal.throwIfAborted()

    const apiUrl = localApiUrl(environment, ports)
    await startPrograms(directory, environment, apiUrl)
    const apiKey = await findApiKey(directory, { databaseUrl, apiUrl, database: databaseName(environment, ports) })
    stopping.signal.throwIfAborted()
    undo.push(() => directory.remember({ running: undefined }))
    const started = describe({ directory, environment, ports, apiUrl, apiKey })
    const { inboxUrl } = started
    await directory.remember({ running: { apiUrl, apiKey, inboxUrl, environment: addressesIn(environment) } })
    return started
  }

  async function startPostgres(directory: DataDirectory, ports: Ports): Promise<void> {
    if (ports.postgres === undefined) return
    const postgres = await startEmbeddedPostgres({
      directory: join(directory.path, 'postgres'),
      port: ports.postgres,
      durable: true,
    })
    abandonPostgres = () => postgres.stop()
    undo.push(abandonPostgres)
    await ensureDatabase(postgres, 'rapport')
  }

  async function startMailInbox(directory: DataDirectory, ports: Ports): Promise<void> {
    if (ports.inbox === undefined) return
    const { smtp: smtpPort, web: webPort } = ports.inbox
    const inbox = await startInbox({ directory: join(directory.path, 'mails'), smtpPort, webPort })
    undo.push(() => inbox.stop())
  }

  async function startPrograms(directory: DataDirectory, environment: Environment, apiUrl: string): Promise<void> {
    const names: ProgramName[] = ['api', 'worker']
    const programs = names.map((name) => startProgram(name, environment))
    undo.push(() => stopPrograms(programs))
    const anyEnded = Promise.race(programs.map(nameEnding))
    await directory.remember({ processes: Object.fromEntries(programs.map(({ name, pid = 0 }) => [name, pid])) })
    const failed = anyEnded.then((what) => {
      throw new Error(`${what}, before everything was ready. What it said, if anything, is above.`)
    })
    await Promise.race([waitUntilReady(apiUrl, stopping.signal), failed])
    void anyEnded.then((what) => broken.resolve(`${what}, and should not have. Stopping everything.`))
  }

  async function stop(): Promise<void> {
    stopping.abort(new Error('Stopped while starting'))
    await started.catch(() => {})
    const problems: unknown[] = []
    for (const step of undo.toReversed()) {
      try {
        await step()
      } catch (problem) {
        problems.push(problem)
      }
    }
    if (problems.length > 0) throw problems[0]
  }
}

/** The same checks that the API and the worker make, once and before anything starts. Throws a ConfigError. */
function checkEnvironment(environment: Environment): void {
  readApiConfig(environment)
  readWorkerConfig(environment)
}

/** Waits for all, also when one fails, so that what did start is known when it is to be stopped. */
async function settled(steps: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(steps)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function nameEnding(program: RunningProgram): Promise<string> {
  const name = program.name === 'api' ? 'API' : 'worker'
  return `The ${name} ended ${await program.ended}`
}

async function stopPrograms(programs: RunningProgram[]): Promise<void> {
  const haveEnded = await Promise.all(programs.map((program) => program.stop(graceMs)))
  const late = programs.filter((_, index) => !haveEnded[index]).map((program) => program.name)
  if (late.length > 0) throw new Error(`Had to be killed, as it did not end within 30 seconds: ${late.join(', ')}.`)
}

async function waitUntilReady(apiUrl: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  let last = 'no answer'
  while (Date.now() < deadline) {
    signal.throwIfAborted()
    try {
      const response = await fetch(`${apiUrl}/ready`, { signal: AbortSignal.timeout(5_000) })
      const body = await response.text()
      if (response.status === 200) return
      last = `${response.status} ${body}`
    } catch (error) {
      last = error instanceof Error ? error.message : String(error)
    }
    await sleep(50)
  }
  throw new Error(`The API was not ready after 60 seconds. Its last answer: ${last}`)
}

/** Of a server that was tried at several addresses, such as those of localhost, what each said. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** The key of the first workspace, which is made when there is none, or when the database no longer knows the key. */
async function findApiKey(
  directory: DataDirectory,
  options: { databaseUrl: string; apiUrl: string; database: string },
): Promise<string> {
  const known = directory.memory.apiKeys[options.database]
  if (known && (await isAccepted(options.apiUrl, known))) return known
  const { apiKey } = await createFirstWorkspace(options.databaseUrl)
  await directory.remember({ apiKeys: { ...directory.memory.apiKeys, [options.database]: apiKey } })
  return apiKey
}

async function isAccepted(apiUrl: string, apiKey: string): Promise<boolean> {
  const response = await fetch(`${apiUrl}/auth/me`, { headers: { authorization: `Bearer ${apiKey}` } })
  await response.body?.cancel()
  return response.status !== 401
}

function describe(options: {
  directory: DataDirectory
  environment: Environment
  ports: Ports
  apiUrl: string
  apiKey: string
}): Started {
  const { environment, ports, apiUrl } = options
  const publicUrl = environment['PUBLIC_URL']
  return {
    apiUrl,
    publicUrl: publicUrl === apiUrl ? undefined : publicUrl,
    dashboardUser: environment['DASHBOARD_USER'] ?? '',
    dashboardPassword: environment['DASHBOARD_PASSWORD'] ?? '',
    inboxUrl: ports.inbox && `http://localhost:${ports.inbox.web}`,
    databaseUrl: ports.postgres === undefined ? undefined : environment['DATABASE_URL'],
    apiKey: options.apiKey,
    dataDirectory: shortPath(options.directory.path),
  }
}

/** Without the project's folder before it, when it lies in there. */
function shortPath(path: string): string {
  const inside = relative(projectDirectory, path)
  return inside.startsWith('..') ? path : inside
}
