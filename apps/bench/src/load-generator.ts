/**
 * Asks as its parent tells it, in a process of its own. By bare sockets, as whoever measures should take as little of the
 * processor as can be: an HTTP client takes half as much again, and would be what bounds the quickest of the routes.
 */
import { connect } from 'node:net'
import type { Ask, Load, Told } from './load.ts'

/** Of each client address. Below every limit, which stays on. */
const asksOfOneClient = 4
let asked = 0

let stop = () => {}

process.on('message', (message: Load | 'stop') => {
  if (message === 'stop') return stop()
  answer(message).then(
    (told) => process.send?.(told),
    (error: unknown) => process.send?.(String(error)),
  )
})

/** Runs until it is stopped, and tells of it only then, even when it failed before. */
async function answer(load: Load): Promise<Told> {
  let isOver = false
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      isOver = true
      resolve()
    }
  })
  const told: Told = { times: [], refused: 0, tookMs: 0 }
  const startedAt = performance.now()
  const work = load.perSecond === undefined ? closedLoop : openLoop
  const working = work(load, { told, isOver: () => isOver })
  await Promise.allSettled([working, stopped])
  await working
  return { ...told, tookMs: performance.now() - startedAt }
}

interface Run {
  told: Told
  isOver(): boolean
}

async function closedLoop(load: Load, run: Run): Promise<void> {
  const connections = Array.from({ length: load.connections ?? 20 }, (_, index) =>
    openConnection({ load, told: run.told, index }),
  )
  await Promise.all(
    connections.map(async (connection) => {
      while (!run.isOver()) await connection.ask()
      connection.close()
    }),
  )
}

/** From the moment that each is sent, and no sending waits for an answer: a slow one hides none of those behind it. */
async function openLoop(load: Load, run: Run): Promise<void> {
  const idle: Connection[] = []
  const all: Connection[] = []
  const asking: Promise<unknown>[] = []
  const everyMs = 1000 / (load.perSecond ?? 1)
  const startedAt = performance.now()
  const failures: unknown[] = []

  function open(): Connection {
    const connection = openConnection({ load, told: run.told, index: all.length })
    all.push(connection)
    return connection
  }

  async function ask() {
    // A server ends what was idle for a while.
    let connection = idle.pop()
    while (connection?.isClosed()) connection = idle.pop()
    connection ??= open()
    await connection.ask()
    idle.push(connection)
  }

  for (let sent = 0; !run.isOver() && failures.length === 0; sent += 1) {
    const dueInMs = startedAt + sent * everyMs - performance.now()
    if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs))
    asking.push(ask().catch((error: unknown) => failures.push(error)))
  }
  await Promise.all(asking)
  for (const connection of all) connection.close()
  if (failures.length > 0) throw failures[0] as Error
}

interface Connection {
  ask(): Promise<void>
  isClosed(): boolean
  close(): void
}

/** Speaks as much HTTP as it takes to read an answer of a known length. */
function openConnection({ load, told, index }: { load: Load; told: Told; index: number }): Connection {
  const { urls, may503 } = load
  const { hostname, port } = new URL(urls[index % urls.length] ?? '')
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1')
  let received = ''
  let waiting: { startedAt: number; done: () => void; fail: (error: Error) => void } | undefined

  socket.on('data', (chunk) => {
    received += String(chunk)
    const end = endOf(received)
    if (end === undefined || received.length < end) return
    const status = received.slice(9, 12)
    const { startedAt = 0, done, fail } = waiting ?? {}
    const answer = received
    received = ''
    waiting = undefined
    const isRefused = may503 === true && status === '503'
    if (!status.startsWith('2') && !isRefused) return fail?.(new Error(answer))
    told.times.push(performance.now() - startedAt)
    if (isRefused) told.refused += 1
    done?.()
  })
  socket.on('error', (error) => waiting?.fail(error))
  socket.on('close', () => waiting?.fail(new Error('The server closed the connection')))

  return {
    ask: () =>
      new Promise((done, fail) => {
        waiting = { startedAt: performance.now(), done, fail }
        socket.write(nextOf(load))
      }),
    isClosed: () => !socket.writable || socket.readableEnded,
    close: () => socket.destroy(),
  }
}

function nextOf({ asks, key, headers = {} }: Load): string {
  const { method, path, body } = asks[asked % asks.length] as Ask
  asked += 1
  const client = Math.floor(asked / asksOfOneClient)
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

const withNumber = (text: string) => text.replaceAll('{n}', String(asked))

/** How long the answer is that begins here, once that can be told. */
function endOf(received: string): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  if (received.startsWith('HTTP/1.1 204')) return headEnd + 4
  const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1]
  if (length === undefined) throw new Error(`An answer of unknown length: ${received.slice(0, headEnd)}`)
  return headEnd + 4 + Number(length)
}

process.on('disconnect', () => stop())
