/** Starts, stops and observes the processes of a bench. */
import { type ChildProcess, type ForkOptions, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Processes = ReturnType<typeof openProcesses>

/** Node programs are forked, so that they exit when the bench crashes and its end of the IPC channel closes. */
export function openProcesses() {
  const running = new Set<ChildProcess>()

  function track(child: ChildProcess): ChildProcess {
    running.add(child)
    child.once('exit', () => running.delete(child))
    return child
  }

  return {
    /** `script` is relative to this folder. */
    fork: (script: string, options: ForkOptions & { parameters?: string[] } = {}) =>
      track(fork(resolve(import.meta.dirname, script), options.parameters ?? [], options)),
    spawn: (command: string, parameters: string[]) => track(spawn(command, parameters, { stdio: 'ignore' })),
    async close() {
      await Promise.all([...running].map((child) => stopProcess(child)))
    },
  }
}

/** Stops a process and waits until it has exited. */
export async function stopProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Returns the next message of a forked process. Throws if it exits instead. */
export async function receiveMessage<Message>(child: ChildProcess): Promise<Message> {
  const done = new AbortController()
  const received = once(child, 'message', { signal: done.signal })
  const exited = once(child, 'exit', { signal: done.signal }).then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} exited with ${code}`)
  })
  try {
    const [message] = (await Promise.race([received, exited])) as [Message]
    return message
  } finally {
    done.abort()
    await Promise.allSettled([received, exited])
  }
}

/** Calls `find` until it returns something other than false, and returns that. An error counts as false. */
export async function waitUntil<Found>(
  find: () => Promise<Found | false>,
  options: { everyMs?: number; timeoutMs?: number } = {},
): Promise<Found> {
  const deadline = performance.now() + (options.timeoutMs ?? 900_000)
  for (;;) {
    const found = await find().catch(() => false as const)
    if (found !== false) return found
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${find.toString()}`)
    await sleep(options.everyMs ?? 20)
  }
}

export const isResponding = async (address: string) => (await fetch(address)).ok

/** Throws if nothing listens on the port. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
  return true
}

/** Returns the resident memory of a process on Linux: current (VmRSS) or peak (VmHWM). */
export async function readMemoryMb({ pid }: ChildProcess, what: 'VmRSS' | 'VmHWM' = 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}

/** Returns the processor time of a process on Linux, which has a resolution of 10 ms. */
export async function readCpuMs({ pid }: ChildProcess): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
