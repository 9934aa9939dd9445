import { watch } from 'node:fs'
import { join } from 'node:path'
import { projectDirectory } from '@rapport/core/runtime/local-instance.ts'
import type { ProgramName } from './processes.ts'

const folders: Record<ProgramName, string[]> = {
  api: ['apps/api/src', 'packages/core/src', 'docs/guides'],
  worker: ['apps/worker/src', 'packages/core/src'],
}

export const describeWatch = (): string =>
  `  Watching ${[...new Set(Object.values(folders).flat())].join(', ')}: after a save, the API or the worker
  starts again, in some seconds. A debugger can attach to the API (port 9229) and to the worker (9230).
`

/** An editor saves in several steps, and a checkout changes many files. */
const quietMs = 100

/** Calls `onChange` after a change of the sources of a program, for each program one call at a time. */
export function watchSources(onChange: (program: ProgramName) => Promise<void>): { close(): Promise<void> } {
  const watched = (Object.keys(folders) as ProgramName[]).map((program) => watchProgram(program, onChange))
  return { close: async () => void (await Promise.all(watched.map(({ close }) => close()))) }
}

function watchProgram(program: ProgramName, onChange: (program: ProgramName) => Promise<void>) {
  let timer: NodeJS.Timeout | undefined
  let handling = Promise.resolve()
  const schedule = (_event: string, file: string | null) => {
    if (file?.endsWith('.test.ts')) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      handling = handling.then(() => onChange(program))
    }, quietMs)
  }
  const watchers = folders[program].map((folder) =>
    watch(join(projectDirectory, folder), { recursive: true }, schedule),
  )
  const close = () => {
    for (const watcher of watchers) watcher.close()
    clearTimeout(timer)
    return handling
  }
  return { close }
}
