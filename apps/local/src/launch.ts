import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/bootstrap.ts'
import { createClosers } from '@rapport/core/kernel/concurrency/closers.ts'
import { ConfigError, readApiConfig, readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { ensureOwnedDatabase } from '@rapport/embedded-postgres/owned-database.ts'
import { dataDirectoryOf, describeInstallation, projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import { FormerDatabaseError, migrate } from '@rapport/core/db/migrate.ts'
import { basicAuthorization } from './inbox/credentials.ts'
import type { Credentials } from './inbox/credentials.ts'
import { startInbox } from './inbox/inbox.ts'
import { openDataDirectory } from './data-directory.ts'
import type { DataDirectory } from './data-directory.ts'
import {
  debuggerFlags,
  describeExit,
  startProgram,
  stopPrograms,
  titles,
  waitForOrphanedPrograms,
} from './processes.ts'
import type { ProgramName } from './processes.ts'
import { choosePorts, completeEnvironment, databaseName, databaseRole, localApiUrl } from './settings.ts'
import type { Environment, Ports } from './settings.ts'
import { watchSources } from './watch-sources.ts'
import type { Started } from './welcome.ts'

const graceMs = 30_000
/** Long, as a busy machine starts slowly. A program that exits ends the wait at once. */
const readyTimeoutMs = 180_000
const databaseHint = '(from DATABASE_URL in your environment; unset it to start a local PostgreSQL)'

/** A start of the whole installation, in progress or complete. */
export interface Launch {
  /** Resolves when everything is ready. Rejects if a start fails or `stop` is called before. */
  readonly started: Promise<Started>
  /** Resolves with a message if a process exits unexpectedly. */
  readonly failed: Promise<string>
  /** Stops everything in reverse order, also during the start. Rejects if a process had to be killed. */
  stop(): Promise<void>
  /** For an immediate exit: stops PostgreSQL without waiting. The other processes exit with the launcher. */
  abandon(): void
}

interface LaunchOptions {
  /** Called if the start takes longer than usual, and when a program starts again. */
  readonly log: (line: string) => void
  /** Starts a program again when its sources change, and lets a debugger attach to it. */
  readonly isDevelopment: boolean
}

/**
 * Starts the database and the inbox, unless the environment sets their URLs, and then the API and the worker.
 */
export function launch(inherited: Environment, { log, isDevelopment }: LaunchOptions): Launch {
  const stopping = new AbortController()
  const closers = createClosers()
  let abandonPostgres: () => Promise<void> | void = () => {}
  const failed = Promise.withResolvers<string>()
  const started = start()
  started.catch(() => {})
  let stopped: Promise<void> | undefined
  return {
    started,
    failed: failed.promise,
    stop: () => (stopped ??= stop()),
    abandon: () => void abandonPostgres(),
  }

  async function start(): Promise<Started> {
    const directory = await openDataDirectory(dataDirectoryOf(inherited))
    closers.push(() => directory.release())
    const onWait = () => log('Waiting for processes of an earlier start to exit ...')
    await waitForOrphanedPrograms(directory.state.processes, { graceMs, onWait, signal: stopping.signal })
    const ports = await choosePorts(inherited)
    const environment = completeEnvironment(inherited, ports, directory.state)
    checkEnvironment(environment)
    stopping.signal.throwIfAborted()

    await waitForAll([startPostgres(directory, ports), startMailInbox(directory, ports, credentialsIn(environment))])
    stopping.signal.throwIfAborted()
    const databaseUrl = environment['DATABASE_URL'] ?? ''
    await migrate(environment['DATABASE_DIRECT_URL'] || databaseUrl).catch((error: unknown) => {
      if (ports.postgres === undefined) throw new Error(`${messageOf(error)} ${databaseHint}`, { cause: error })
      if (!(error instanceof FormerDatabaseError)) throw error
      const folder = shortPath(directory.path)
      throw new ConfigError(`${error.message} To start with an empty one, delete the folder ${folder}.`, {
        cause: error,
      })
    })
    stopping.signal.throwIfAborted()

    const apiUrl = localApiUrl(environment, ports)
    await startPrograms(directory, environment, apiUrl)
    const apiKey = await findApiKey(directory, { databaseUrl, apiUrl, database: databaseName(environment, ports) })
    stopping.signal.throwIfAborted()
    closers.push(() => directory.save({ running: undefined }))
    const started = describe({ directory, environment, ports, apiUrl, apiKey })
    const { inboxUrl } = started
    const inbox = inboxUrl ? { inboxUrl, inboxAuthorization: basicAuthorization(credentialsIn(environment)) } : {}
    await directory.save({ running: { apiUrl, apiKey, ...inbox, environment: describeInstallation(environment) } })
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
    closers.push(abandonPostgres)
    const password = directory.state.databasePassword
    await ensureOwnedDatabase(postgres, { database: 'rapport', role: databaseRole, password })
  }

  async function startMailInbox(directory: DataDirectory, ports: Ports, credentials: Credentials): Promise<void> {
    if (ports.inbox === undefined) return
    const { smtp: smtpPort, web: webPort } = ports.inbox
    const inbox = await startInbox({ directory: join(directory.path, 'mails'), smtpPort, webPort, credentials })
    closers.push(() => inbox.stop())
  }

  async function startPrograms(directory: DataDirectory, environment: Environment, apiUrl: string): Promise<void> {
    const start = (name: ProgramName) => startProgram(name, environment, isDevelopment ? debuggerFlags[name] : [])
    const programs = { api: start('api'), worker: start('worker') }
    closers.push(() => stopPrograms(Object.values(programs), graceMs))
    const savePids = () =>
      directory.save({ processes: { api: programs.api.pid ?? 0, worker: programs.worker.pid ?? 0 } })
    await savePids()
    const anyExit = Promise.race(Object.values(programs).map(describeExit))
    const startFailed = anyExit.then((description) => {
      throw new Error(`${description} before everything was ready. See its output above.`)
    })
    const isReady = () => waitUntilReady(apiUrl, stopping.signal)
    await Promise.race([isReady(), startFailed])
    if (!isDevelopment) {
      void anyExit.then((description) => failed.resolve(`${description} unexpectedly. Stopping everything.`))
      return
    }
    const sources = watchSources(async (name) => {
      log(`Restarting the ${titles[name]} ...`)
      await programs[name].stop(graceMs)
      if (stopping.signal.aborted) return
      const program = (programs[name] = start(name))
      await savePids()
      const exited = describeExit(program).then((description) => `${description}. Save a file to start it again.`)
      log(await Promise.race([exited, isReady().then(() => `Restarted the ${titles[name]}.`, messageOf)]))
    })
    closers.push(() => sources.close())
  }

  async function stop(): Promise<void> {
    stopping.abort(new Error('Stopped during the start'))
    await started.catch(() => {})
    await closers.close()
  }
}

/** Validates the environment like the API and the worker, before anything starts. Throws a ConfigError. */
function checkEnvironment(environment: Environment): void {
  readApiConfig(environment)
  readWorkerConfig(environment)
}

/** The user and password of the queue dashboard, which also open the inbox. */
function credentialsIn(environment: Environment): Credentials {
  return { user: environment['DASHBOARD_USER'] ?? '', password: environment['DASHBOARD_PASSWORD'] ?? '' }
}

/** Waits for all steps even if one fails, so that `stop` knows everything that was started. */
async function waitForAll(steps: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(steps)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function waitUntilReady(apiUrl: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  let last = 'none'
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
  throw new Error(`The API was not ready after ${readyTimeoutMs / 1_000} seconds. Last response: ${last}`)
}

/** If several addresses were tried, such as those of localhost, returns the message of each. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** Returns the key of the first workspace. Creates a workspace with a key if none is known or the API rejects it. */
async function findApiKey(
  directory: DataDirectory,
  options: { databaseUrl: string; apiUrl: string; database: string },
): Promise<string> {
  const known = directory.state.apiKeys[options.database]
  if (known && (await isAccepted(options.apiUrl, known))) return known
  const { apiKey } = await createFirstWorkspace(options.databaseUrl)
  await directory.save({ apiKeys: { ...directory.state.apiKeys, [options.database]: apiKey } })
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
    ...credentialsIn(environment),
    inboxUrl: ports.inbox && `http://localhost:${ports.inbox.web}`,
    databaseUrl: ports.postgres === undefined ? undefined : environment['DATABASE_URL'],
    apiKey: options.apiKey,
    dataDirectory: shortPath(options.directory.path),
  }
}

/** Returns a path relative to the project folder if it is inside of it. */
function shortPath(path: string): string {
  const inside = relative(projectDirectory, path)
  return inside.startsWith('..') ? path : inside
}
