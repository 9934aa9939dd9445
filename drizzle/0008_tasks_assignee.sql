-- Who leaves the workspace leaves their tasks to nobody. Only the assignee becomes null: the workspace must stay.
ALTER TABLE "tasks" DROP CONSTRAINT "tasks_assignee_fk",
	ADD CONSTRAINT "tasks_assignee_fk" FOREIGN KEY ("workspace_id","assignee_id") REFERENCES "public"."members"("workspace_id","user_id") ON DELETE SET NULL ("assignee_id");
