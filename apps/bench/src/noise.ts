/** Programs that disturb the others while these are measured. */
import { constants, setPriority } from 'node:os'
import type { Installation } from './installation.ts'
import { receiveMessage } from './processes.ts'

export interface Noise {
  stop(): Promise<void>
}

/**
 * Starts a program that calls `makeNoise`, with the lowest priority: so it takes no processor time from the programs that are
 * measured. `setup` is what it needs to know. `stop` waits until no request is under way.
 */
export function startNoise({ processes }: Installation, script: string, setup: object): Noise {
  const child = processes.fork(script)
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  child.send(setup)
  return {
    async stop() {
      child.send('stop')
      await receiveMessage(child)
      child.disconnect()
    },
  }
}

/** Makes noise until the parent process stops it. `make` gets what the parent process has given to `startNoise`. */
export function makeNoise(make: (setup: never, isStopped: () => boolean) => Promise<unknown>): void {
  let isStopped = false
  process.on('message', (message) => {
    if (message === 'stop') isStopped = true
    else void make(message as never, () => isStopped).then(() => process.send?.('stopped'))
  })
}
