/**
 * Sends the requests that its parent process asks for. It uses plain sockets to save processor time: an HTTP client
 * needs 50 % more, and would be the bottleneck of the fastest routes.
 */
import { connect } from 'node:net'
import type { LoadRequest, Load, LoadResult } from './load.ts'

/** Few enough requests per client address to stay below the rate limits, which remain enabled. */
const requestsPerClient = 4
let requestCount = 0

let stop = () => {}

process.on('message', (message: Load | 'stop') => {
  if (message === 'stop') return stop()
  runLoad(message).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.(String(error)),
  )
})

/** Runs until it is stopped, and reports a failure only after the stop. */
async function runLoad(load: Load): Promise<LoadResult> {
  let isStopped = false
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      isStopped = true
      resolve()
    }
  })
  const result: LoadResult = { latenciesMs: [], rejectedCount: 0, durationMs: 0 }
  const startedAt = performance.now()
  const work = load.perSecond === undefined ? runClosedLoop : runOpenLoop
  const working = work(load, { result, isStopped: () => isStopped })
  await Promise.allSettled([working, stopped])
  await working
  return { ...result, durationMs: performance.now() - startedAt }
}

interface Run {
  result: LoadResult
  isStopped(): boolean
}

async function runClosedLoop(load: Load, run: Run): Promise<void> {
  const connections = Array.from({ length: load.connections ?? 20 }, (_, index) =>
    openConnection({ load, result: run.result, index }),
  )
  await Promise.all(
    connections.map(async (connection) => {
      while (!run.isStopped()) await connection.send()
      connection.close()
    }),
  )
}

/** Sends at a constant rate without waiting for responses, so that a slow response does not delay later requests. */
async function runOpenLoop(load: Load, run: Run): Promise<void> {
  const idle: Connection[] = []
  const all: Connection[] = []
  const sending: Promise<unknown>[] = []
  const everyMs = 1000 / (load.perSecond ?? 1)
  const startedAt = performance.now()
  const failures: unknown[] = []

  function open(): Connection {
    const connection = openConnection({ load, result: run.result, index: all.length })
    all.push(connection)
    return connection
  }

  async function sendNext() {
    // The server closes idle connections.
    let connection = idle.pop()
    while (connection?.isClosed()) connection = idle.pop()
    connection ??= open()
    await connection.send()
    idle.push(connection)
  }

  for (let sent = 0; !run.isStopped() && failures.length === 0; sent += 1) {
    const dueInMs = startedAt + sent * everyMs - performance.now()
    if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs))
    sending.push(sendNext().catch((error: unknown) => failures.push(error)))
  }
  await Promise.all(sending)
  for (const connection of all) connection.close()
  if (failures.length > 0) throw failures[0] as Error
}

interface Connection {
  send(): Promise<void>
  isClosed(): boolean
  close(): void
}

/** Implements only the part of HTTP that is needed to read responses with a content-length. */
function openConnection({ load, result, index }: { load: Load; result: LoadResult; index: number }): Connection {
  const { urls, allows503 } = load
  const { hostname, port } = new URL(urls[index % urls.length] ?? '')
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1')
  let received = ''
  let waiting: { startedAt: number; done: () => void; fail: (error: Error) => void } | undefined

  socket.on('data', (chunk) => {
    received += String(chunk)
    const end = findResponseEnd(received)
    if (end === undefined || received.length < end) return
    const status = received.slice(9, 12)
    const { startedAt = 0, done, fail } = waiting ?? {}
    const response = received
    received = ''
    waiting = undefined
    const isRejected = allows503 === true && status === '503'
    if (!status.startsWith('2') && !isRejected) return fail?.(new Error(response))
    result.latenciesMs.push(performance.now() - startedAt)
    if (isRejected) result.rejectedCount += 1
    done?.()
  })
  socket.on('error', (error) => waiting?.fail(error))
  socket.on('close', () => waiting?.fail(new Error('The server closed the connection')))

  return {
    send: () =>
      new Promise((done, fail) => {
        waiting = { startedAt: performance.now(), done, fail }
        socket.write(buildNextRequest(load))
      }),
    isClosed: () => !socket.writable || socket.readableEnded,
    close: () => socket.destroy(),
  }
}

function buildNextRequest({ requests, headers = {}, ...load }: Load): string {
  const { method, path, body, key = load.key } = requests[requestCount % requests.length] as LoadRequest
  requestCount += 1
  const client = Math.floor(requestCount / requestsPerClient)
  const text = body === undefined ? '' : withNumber(JSON.stringify(body))
  return [
    `${method} ${withNumber(path)} HTTP/1.1`,
    'host: 127.0.0.1',
    `x-forwarded-for: 10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`,
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
    '',
    text,
  ].join('\r\n')
}

const withNumber = (text: string) => text.replaceAll('{n}', String(requestCount))

/** Returns the length of the response, or undefined if its head is incomplete. */
function findResponseEnd(received: string): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  if (received.startsWith('HTTP/1.1 204')) return headEnd + 4
  const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1]
  if (length === undefined) throw new Error(`A response without content-length: ${received.slice(0, headEnd)}`)
  return headEnd + 4 + Number(length)
}

process.on('disconnect', () => stop())
