import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { Id, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { deleteWorkspace } from '@rapport/core/operations/workspaces/delete-workspace.ts'
import type { BaseCtx, Ctx } from '@rapport/core/request/context.ts'
import { isLiveWorkspace } from '@rapport/core/request/workspace-state.ts'
import { dataDirectoryOf } from '@rapport/core/runtime/local-instance.ts'
import { createWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { z } from 'zod'
import { CommandFailed, defineCommand, exitCodes, jsonFlag } from '../command.ts'
import { withOperator } from '../database.ts'
import { createDemo } from '../demo/create-demo.ts'

const name = 'Demo'

export const demo = defineCommand({
  options: z.strictObject({ json: jsonFlag('Prints the workspace, its API key and its form as JSON') }),
  notes: [
    'Only while "pnpm start" or "pnpm dev" is running: the newsletters are sent to its inbox. Takes about half a minute.',
    'The file demo.env in the folder of its data has the API key: ". .rapport/demo.env", and the examples of the guides',
    'use the workspace. A second call changes nothing. To make it anew, delete it with "rapport workspace delete".',
  ].join('\n'),
  async run(cli, { json }) {
    const { local, environment, terminal } = cli
    if (!local)
      throw new CommandFailed('There is no local installation. Start one with "pnpm start".', exitCodes.config)
    const file = join(dataDirectoryOf(environment), 'demo.env')
    const known = await readDemo(file)
    const save = (state: DemoState) => writeDemo(file, { ...state, RAPPORT_API_URL: local.apiUrl })
    const made = await withOperator(cli, async (base) => {
      const isLive = known && (await isLiveWorkspace(contextOf(base, known.RAPPORT_WORKSPACE_ID)))
      if (isLive && known.RAPPORT_API_KEY) return known
      // An earlier call was interrupted.
      if (isLive) await deleteWorkspace(contextOf(base, known.RAPPORT_WORKSPACE_ID), { name })
      const { id } = await createWorkspace(base.db, name)
      await save({ RAPPORT_WORKSPACE_ID: id })
      const ctx = contextOf(base, id)
      const formId = await createDemo(ctx, (step) => terminal.log(`Creating ${step}`))
      const { key } = await createApiKey(ctx, { name: 'Demo', role: 'ADMIN', rights: null, expiresAt: null })
      return { RAPPORT_WORKSPACE_ID: id, RAPPORT_API_KEY: key, RAPPORT_FORM_ID: formId }
    })
    await save(made)
    const formUrl = `${local.apiUrl}/f/${made.RAPPORT_FORM_ID}`
    const result = { workspaceId: made.RAPPORT_WORKSPACE_ID, apiKey: made.RAPPORT_API_KEY, formUrl }
    terminal.print(json ? JSON.stringify(result) : [`API key    ${result.apiKey}`, `Form       ${formUrl}`].join('\n'))
    terminal.log(`The workspace is ${result.workspaceId} "${name}". For a shell: . ${file}`)
    return exitCodes.success
  },
})

const DemoState = z.object({
  RAPPORT_WORKSPACE_ID: Id('wsp'),
  /** Missing until everything is created. */
  RAPPORT_API_KEY: z.string().optional(),
  RAPPORT_FORM_ID: z.string().optional(),
})
type DemoState = z.output<typeof DemoState>

const contextOf = (base: BaseCtx, workspaceId: WorkspaceId): Ctx => ({
  ...base,
  workspaceId,
  actor: { kind: 'system' },
})

async function readDemo(file: string): Promise<DemoState | undefined> {
  return DemoState.safeParse(parseEnv(await readFile(file, 'utf8').catch(() => ''))).data
}

/** Readable by the owner only, as it has a key. */
async function writeDemo(file: string, variables: Record<string, string | undefined>): Promise<void> {
  const lines = Object.entries(variables).map(([variable, value]) => (value ? `export ${variable}=${value}\n` : ''))
  await writeFile(file, lines.join(''), { mode: 0o600 })
}
