import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { listTasks, listTasksOfContact } from '@rapport/core/tasks/list-tasks.ts'
import { lockTask, updateTask, createTask, deleteTask, readTask } from '@rapport/core/tasks/tasks.ts'
import { ContactTaskQuery, Task, TaskChange, TaskInput, TaskQuery } from '@rapport/core/tasks/tasks.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Tasks'], security: [{ bearer: [] }] }
const params = IdParams('tsk')
const contactParams = z.object({ contactId: Id('con') })
const currentTask = recordById(Task, { lock: lockTask, read: readTask })

export const taskRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/contacts/:contactId/tasks',
    {
      schema: {
        ...common,
        operationId: 'tasks.create',
        summary: 'Create a task',
        description: 'Creates a task for the contact. Emits `task.created`.',
        params: contactParams,
        body: TaskInput,
        response: { 201: Task },
      },
    },
    idempotent(async (request, reply) => {
      const task = await createTask(request.ctx, request.params.contactId, request.body)
      reply.code(201).header('location', `/tasks/${task.id}`)
      return task
    }),
  )

  app.get(
    '/contacts/:contactId/tasks',
    {
      schema: {
        ...common,
        operationId: 'tasks.listOfContact',
        summary: 'List the tasks of a contact',
        description: 'Returns the tasks that match all filters, earliest `dueAt` first.',
        params: contactParams,
        querystring: ContactTaskQuery,
        response: { 200: PageOf(Task) },
      },
    },
    (request) => listTasksOfContact(request.ctx, request.params.contactId, request.query),
  )

  app.get(
    '/tasks',
    {
      schema: {
        ...common,
        operationId: 'tasks.list',
        summary: 'List tasks',
        description: 'Returns the tasks of all contacts that match all filters, earliest `dueAt` first.',
        querystring: TaskQuery,
        response: { 200: PageOf(Task) },
      },
    },
    (request) => listTasks(request.ctx, request.query),
  )

  app.get(
    '/tasks/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'tasks.get',
        summary: 'Retrieve a task',
        description: 'Returns the task.',
        params,
        response: { 200: Task },
      },
    },
    (request) => readTask(request.ctx, request.params.id),
  )

  app.patch(
    '/tasks/:id',
    {
      schema: {
        ...common,
        operationId: 'tasks.update',
        summary: 'Update a task',
        description:
          'DONE sets `completedAt`; OPEN clears it. A change to DONE emits `task.completed`. Any other change, including reopening, emits `task.updated`. A no-op update emits no event.',
        params,
        body: TaskChange,
        response: { 200: Task },
      },
    },
    ifMatch(currentTask, (request) => updateTask(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/tasks/:id',
    {
      schema: {
        ...common,
        operationId: 'tasks.delete',
        summary: 'Delete a task',
        description: 'Emits `task.deleted`.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentTask, async (request, reply) => {
      await deleteTask(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
