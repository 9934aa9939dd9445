import { createWorkspaceAndInviteOwner } from '@rapport/core/team/create-workspace.ts'
import { CreateWorkspaceInput } from '@rapport/core/team/team.schema.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, option } from '../command.ts'
import { withOperator } from '../database.ts'

const { name, ownerEmail } = CreateWorkspaceInput.shape

export const workspaceCreate = defineCommand({
  name: 'workspace create',
  summary: 'Creates a workspace and invites its owner',
  options: z.strictObject({
    name: name.meta(option('<text>', 'What it is called')),
    'owner-email': ownerEmail.meta(option('<address>', 'Who gets the mail with the link that makes them its OWNER')),
    json: z.boolean().default(false).meta(flag('Prints the workspace and the invite as JSON')),
  }),
  notes: [
    'Prints the id of the workspace. It works on the database itself, as the operator, and is recorded in the audit log.',
    'The owner needs no account yet: the page behind the link asks for a password. A worker sends the mail.',
  ].join('\n'),
  async run(cli, options) {
    const { name, 'owner-email': ownerEmail, json } = options
    const founded = await withOperator(cli, (base) => createWorkspaceAndInviteOwner(base, { name, ownerEmail }))
    const { workspace, invite } = founded
    cli.terminal.print(json ? JSON.stringify(founded) : workspace.id)
    cli.terminal.tell(
      [
        `"${workspace.name}" is there, and an invite for ${invite.email} is on its way, good until ${invite.expiresAt}.`,
        'Next, a key for a program:',
        `  pnpm rapport key create --workspace ${workspace.id} --role ADMIN --name "First key"`,
      ].join('\n'),
    )
    return exitCodes.good
  },
})
