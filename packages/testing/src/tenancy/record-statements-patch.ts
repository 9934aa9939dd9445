/** Records the text of every statement that code of the repository, and not its tests, sends to PostgreSQL. */
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface RecordedStatement {
  text: string
  /** The file and function that sent it, as `packages/core/src/work/publish.ts findPublishableWork`. */
  sender: string
}

const projectRoot = resolve(import.meta.dirname, '../../../..')
const application = /^(packages\/core|apps\/(api|worker|cli|local))\/src\//
const testCode = /\.test\.ts$|\/testing\.ts$/
/** Files that send the statements of their callers, and this one. */
const plumbing =
  /^packages\/core\/src\/(db\/(client|transaction|prepared-query|statements\/.*|snapshot|json-rows)|kernel\/.*)\.ts$|\/record-statements-patch\.ts$/

/** Texts that were seen in this Vitest worker. */
const seen = new Set<string>()
const recorded: RecordedStatement[] = []
let isRecording = false

/** The statements that were recorded since the last call, each once per Vitest worker. */
export function takeRecordedStatements(): RecordedStatement[] {
  return recorded.splice(0)
}

/** Starts recording, once per Vitest worker. */
export function recordStatementsOfApplication(): void {
  if (isRecording) return
  isRecording = true
  for (const prototype of [pg.Pool.prototype, pg.Client.prototype]) {
    const query = prototype.query as (...parameters: unknown[]) => unknown
    prototype.query = function (this: unknown, ...parameters: unknown[]) {
      record(parameters[0])
      return query.apply(this, parameters)
    } as typeof prototype.query
  }
}

function record(query: unknown): void {
  const text = typeof query === 'string' ? query : (query as { text?: unknown }).text
  if (typeof text !== 'string' || seen.has(text)) return
  // A library sends its statements often, and a stack costs time.
  seen.add(text)
  const sender = findSender()
  if (sender?.isApplication) recorded.push({ text, sender: sender.name })
}

/** Finds the first caller in the repository. A pool sends its statements later, without their callers. */
function findSender(): { name: string; isApplication: boolean } | undefined {
  let path: string | undefined
  for (const frame of callers()) {
    if (path !== undefined && frame.path !== path) break
    path = frame.path
    if (!application.test(path) || testCode.test(path)) return { name: path, isApplication: false }
    if (frame.name) return { name: `${path} ${frame.name}`, isApplication: true }
  }
  return path === undefined ? undefined : { name: path, isApplication: true }
}

function callers(): { path: string; name: string | undefined }[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error('callers')
  Error.stackTraceLimit = stackTraceLimit
  return stack.split('\n').flatMap((line) => {
    const [, name, location] = /^\s+at (?:async )?(?:(.*) \()?(.*?):\d+:\d+\)?$/.exec(line) ?? []
    if (!location) return []
    const path = relative(projectRoot, location.startsWith('file:') ? fileURLToPath(location) : location)
    return /node_modules|^node:|^\.\./.test(path) || plumbing.test(path) ? [] : [{ path, name }]
  })
}
