/** Processes of a bench: what it starts, ends, waits for and looks at. */
import { type ChildProcess, type ForkOptions, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Processes = ReturnType<typeof openProcesses>

/** Node programs are forked: when the bench dies, its end of their channel closes, and they end by themselves. */
export function openProcesses() {
  const running = new Set<ChildProcess>()

  function keep(child: ChildProcess): ChildProcess {
    running.add(child)
    child.once('exit', () => running.delete(child))
    return child
  }

  return {
    /** `script` is seen from this folder. With `stdio` the program's output can be read. */
    fork: (script: string, options: ForkOptions & { parameters?: string[] } = {}) =>
      keep(fork(resolve(import.meta.dirname, script), options.parameters ?? [], options)),
    spawn: (command: string, parameters: string[]) => keep(spawn(command, parameters, { stdio: 'ignore' })),
    async close() {
      await Promise.all([...running].map((child) => end(child)))
    },
  }
}

/** Ends a process, and waits until it has ended. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** The next thing that a forked process says. Fails when it ends instead. */
export async function hear<Message>(child: ChildProcess): Promise<Message> {
  const over = new AbortController()
  const said = once(child, 'message', { signal: over.signal })
  const ended = once(child, 'exit', { signal: over.signal }).then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`)
  })
  try {
    const [message] = (await Promise.race([said, ended])) as [Message]
    return message
  } finally {
    over.abort()
    await Promise.allSettled([said, ended])
  }
}

/** Asks until there is something to it, which it answers. A failure is taken for a no. */
export async function until<Found>(
  find: () => Promise<Found | false>,
  options: { everyMs?: number; timeoutMs?: number } = {},
): Promise<Found> {
  const giveUpAt = performance.now() + (options.timeoutMs ?? 900_000)
  for (;;) {
    const found = await find().catch(() => false as const)
    if (found !== false) return found
    if (performance.now() > giveUpAt) throw new Error(`Waited in vain for ${find.toString()}`)
    await sleep(options.everyMs ?? 20)
  }
}

export const isAnswering = async (address: string) => (await fetch(address)).ok

/** Whether something listens there. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
  return true
}

/** In MB: what a process holds now (VmRSS), and the most that it ever held (VmHWM). Of Linux. */
export async function memoryOf({ pid }: ChildProcess, what: 'VmRSS' | 'VmHWM' = 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}

/** The processor time that a process has had, in milliseconds. Linux counts in hundredths of a second. */
export async function processorMsOf({ pid }: ChildProcess): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
