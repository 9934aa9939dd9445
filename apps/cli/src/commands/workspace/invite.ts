import { type Invite, InviteInput } from '@rapport/core/team/team.schema.ts'
import { createInvite, listInvites, resendInvite } from '@rapport/core/team/invites.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readAllPages } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

const { email, role } = InviteInput.shape

export const workspaceInvite = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    email: email.meta(option('<address>', 'Address that receives the invite')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER, ADMIN or OWNER')),
    json: jsonFlag('Prints the invite as JSON'),
  }),
  notes: [
    'Use it when an owner has lost the mailbox, so that "rapport user reset" does not help. Only the recipient of the',
    'email can accept the invite. A worker sends the email. The command connects to the database directly and is recorded',
    'in the audit log of the workspace. Repeated, it prints the invite that waits, and sends nothing.',
  ].join('\n'),
  async run(cli, { workspace, email, role, json }) {
    const invite = await withWorkspace(cli, workspace, (ctx) => ensureInvite(ctx, { email, role }))
    cli.terminal.print(json ? JSON.stringify(invite) : invite.id)
    cli.terminal.log(`The invite for ${invite.email} expires ${invite.expiresAt}.`)
    return exitCodes.success
  },
})

/** Returns the invite of the address with this role if it waits already, or sends an expired one again. */
async function ensureInvite(ctx: Ctx, input: InviteInput): Promise<Invite> {
  return await createInvite(ctx, input).catch(async (error: unknown) => {
    if (!(error instanceof AppError && error.code === 'already_exists')) throw error
    const invites = await readAllPages((page) => listInvites(ctx, { ...page, sort: 'createdAt' }))
    const known = invites.find(({ email, role }) => isSame(email, input.email) && role === input.role)
    if (!known) throw error
    return Date.parse(known.expiresAt) < Date.now() ? resendInvite(ctx, known.id) : known
  })
}

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
