import {
  Accordion,
  Checkbox,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";

import type { KeyDraft } from "./keyDraft";

interface Props {
  draft: KeyDraft;
  onChange: (change: Partial<KeyDraft>) => void;
  /** Suggested model names. */
  models: string[];
  /** Validation messages by API field name. */
  problems: Record<string, string>;
}

const scopes = [
  { value: "inference", label: "Inference", description: "Call models" },
  { value: "read", label: "Read", description: "Read requests, statistics, models and keys" },
  { value: "manage", label: "Manage", description: "Change keys, policies and settings" },
];

/** The fields of a key. Only the name is required; the rest is collapsed and has safe defaults. */
export function KeyForm(props: Props) {
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        description="The client that uses the key, such as ci or checkout-service"
        required
        maxLength={100}
        data-autofocus
        value={props.draft.name}
        onChange={(event) => props.onChange({ name: event.currentTarget.value })}
        error={props.problems["name"]}
      />
      <Accordion variant="contained" multiple>
        <Fold value="access" title="Access" summary={accessSummary(props.draft)}>
          <AccessFields {...props} />
        </Fold>
        <Fold value="limits" title="Limits and budget" summary={limitSummary(props.draft)}>
          <LimitFields {...props} />
        </Fold>
        <Fold value="sessions" title="Session limits" summary={sessionSummary(props.draft)}>
          <SessionFields {...props} />
        </Fold>
        <Fold value="cache" title="Response cache" summary={cacheSummary(props.draft)}>
          <CacheFields {...props} />
        </Fold>
        <Fold value="more" title="Expiry, logging and tags" summary={moreSummary(props.draft)}>
          <MoreFields {...props} />
        </Fold>
      </Accordion>
    </Stack>
  );
}

function Fold(props: { value: string; title: string; summary: string; children: React.ReactNode }) {
  return (
    <Accordion.Item value={props.value}>
      <Accordion.Control>
        <Text size="sm" fw={600}>
          {props.title}
        </Text>
        <Text size="xs" c="dimmed">
          {props.summary}
        </Text>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack gap="sm">{props.children}</Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}

function accessSummary(draft: KeyDraft): string {
  return `${draft.scopes.join(", ") || "no scopes"} · ${draft.allowedModels.length > 0 ? draft.allowedModels.join(", ") : "all models"}`;
}

function perPeriod(period: string): string {
  return period === "total" ? "in total" : `per ${period}`;
}

function limitSummary(draft: KeyDraft): string {
  const limited = draft.requestsPerMinute || draft.tokensPerMinute || draft.concurrent;
  const budget = draft.budgetAmount ? `$${draft.budgetAmount} ${perPeriod(draft.budgetPeriod)}` : "no budget";
  return `${limited ? "rate limits" : "no rate limits"} · ${budget}`;
}

function sessionSummary(draft: KeyDraft): string {
  const parts = [
    draft.sessionAmount && `$${draft.sessionAmount} per session`,
    draft.userAmount && `$${draft.userAmount} per end user ${perPeriod(draft.userPeriod)}`,
    (draft.turnsPerMinute || draft.spendPerMinute) && "limits per minute",
  ].filter(Boolean);
  return parts.join(" · ") || "no limits";
}

function cacheSummary(draft: KeyDraft): string {
  if (draft.cacheMode === "off") {
    return "off";
  }
  const who = draft.cacheShared ? "shared in the workspace" : "this key only";
  return `${draft.cacheMode === "always" ? "all requests" : "requests with x-fairlead-cache: on"} · up to ${draft.cacheMinutes || 0} min old · ${who}`;
}

function moreSummary(draft: KeyDraft): string {
  const ends =
    draft.expiry === "none"
      ? "never expires"
      : draft.expiry === "date"
        ? draft.expiryDate
        : `${draft.expiry} days`;
  return `${ends} · body logging: ${draft.logBodies === "inherit" ? "workspace default" : draft.logBodies}${draft.tags.length > 0 ? ` · ${draft.tags.join(", ")}` : ""}`;
}

function AccessFields({ draft, onChange, models, problems }: Props) {
  return (
    <>
      <Checkbox.Group
        label="Scopes"
        value={draft.scopes}
        onChange={(value) => onChange({ scopes: value })}
        error={problems["scopes"]}
      >
        <Stack gap={6} mt={4}>
          {scopes.map((scope) => (
            <Checkbox key={scope.value} {...scope} />
          ))}
        </Stack>
      </Checkbox.Group>
      <TagsInput
        label="Allowed models"
        description="Leave empty to allow all models. Wildcards are allowed: gpt-4.1*"
        data={models}
        value={draft.allowedModels}
        onChange={(value) => onChange({ allowedModels: value })}
        error={problems["allowed_models"]}
        comboboxProps={{ withinPortal: true }}
      />
      <Select
        label="Baseline model"
        description="Savings are measured against this model. Leave empty for the workspace’s default model."
        data={models}
        searchable
        clearable
        value={draft.baselineModel || null}
        onChange={(value) => onChange({ baselineModel: value ?? "" })}
        error={problems["baseline_model"]}
      />
      <Switch
        label="Allow models without a price"
        checked={draft.allowUnpriced}
        onChange={(event) => onChange({ allowUnpriced: event.currentTarget.checked })}
      />
    </>
  );
}

function LimitFields({ draft, onChange, problems }: Props) {
  return (
    <>
      <Group grow align="flex-start">
        <NumberInput
          label="Requests per minute"
          min={0}
          allowDecimal={false}
          thousandSeparator=","
          placeholder="No limit"
          value={draft.requestsPerMinute}
          onChange={(value) => onChange({ requestsPerMinute: value === "" ? "" : Number(value) })}
          error={problems["limits.requests_per_minute"]}
        />
        <NumberInput
          label="Tokens per minute"
          min={0}
          allowDecimal={false}
          thousandSeparator=","
          placeholder="No limit"
          value={draft.tokensPerMinute}
          onChange={(value) => onChange({ tokensPerMinute: value === "" ? "" : Number(value) })}
          error={problems["limits.tokens_per_minute"]}
        />
      </Group>
      <Group grow align="flex-start">
        <TextInput
          label="Budget (USD)"
          inputMode="decimal"
          placeholder="No budget"
          value={draft.budgetAmount}
          onChange={(event) => onChange({ budgetAmount: event.currentTarget.value.trim() })}
          error={problems["budget.amount_usd"] ?? problems["budget"]}
        />
        <Select
          label="Per"
          data={[
            { value: "day", label: "day" },
            { value: "week", label: "week" },
            { value: "month", label: "month" },
            { value: "total", label: "lifetime" },
          ]}
          allowDeselect={false}
          value={draft.budgetPeriod}
          onChange={(value) => onChange({ budgetPeriod: value ?? "month" })}
        />
        <NumberInput
          label="Warn at"
          suffix=" %"
          min={0}
          max={100}
          value={draft.budgetWarn}
          onChange={(value) => onChange({ budgetWarn: value === "" ? "" : Number(value) })}
          error={problems["budget.warn_percent"]}
        />
      </Group>
      <Switch
        label="Reject requests over the budget"
        checked={draft.budgetBlocks}
        onChange={(event) => onChange({ budgetBlocks: event.currentTarget.checked })}
      />
    </>
  );
}

function SessionFields({ draft, onChange, problems }: Props) {
  return (
    <>
      <Group grow align="flex-start">
        <TextInput
          label="Budget per session (USD)"
          inputMode="decimal"
          placeholder="No budget"
          value={draft.sessionAmount}
          onChange={(event) => onChange({ sessionAmount: event.currentTarget.value.trim() })}
          error={problems["sessions.budget.amount_usd"] ?? problems["sessions.budget"]}
        />
        <NumberInput
          label="Warn at"
          suffix=" %"
          min={0}
          max={100}
          value={draft.sessionWarn}
          onChange={(value) => onChange({ sessionWarn: value === "" ? "" : Number(value) })}
        />
      </Group>
      <Group grow align="flex-start">
        <TextInput
          label="Budget per end user (USD)"
          inputMode="decimal"
          placeholder="No budget"
          value={draft.userAmount}
          onChange={(event) => onChange({ userAmount: event.currentTarget.value.trim() })}
          error={problems["sessions.user_budget.amount_usd"] ?? problems["sessions.user_budget"]}
        />
        <Select
          label="Per"
          data={[
            { value: "day", label: "day" },
            { value: "week", label: "week" },
            { value: "month", label: "month" },
            { value: "total", label: "lifetime" },
          ]}
          allowDeselect={false}
          value={draft.userPeriod}
          onChange={(value) => onChange({ userPeriod: value ?? "day" })}
        />
      </Group>
      <Switch
        label="Use auto:cost after the warning level is reached"
        description="Routes requests to the cheapest suitable model until the budget is used up, even if a request names another model"
        checked={draft.downgrade}
        onChange={(event) => onChange({ downgrade: event.currentTarget.checked })}
      />
      <Group grow align="flex-start">
        <NumberInput
          label="Requests per session per minute"
          min={0}
          allowDecimal={false}
          thousandSeparator=","
          placeholder="No limit"
          value={draft.turnsPerMinute}
          onChange={(value) => onChange({ turnsPerMinute: value === "" ? "" : Number(value) })}
          error={problems["sessions.turns_per_minute"]}
        />
        <TextInput
          label="Spend per session per minute (USD)"
          inputMode="decimal"
          placeholder="No limit"
          value={draft.spendPerMinute}
          onChange={(event) => onChange({ spendPerMinute: event.currentTarget.value.trim() })}
          error={problems["sessions.spend_per_minute_usd"]}
        />
      </Group>
    </>
  );
}

function CacheFields({ draft, onChange, problems }: Props) {
  return (
    <>
      <Select
        label="Serve identical requests from the cache"
        description="Only a request with exactly the same content gets a cached response. Requests with tools are never cached."
        data={[
          { value: "off", label: "Never" },
          { value: "on_request", label: "When the request has x-fairlead-cache: on" },
          { value: "always", label: "Always" },
        ]}
        allowDeselect={false}
        value={draft.cacheMode}
        onChange={(value) => onChange({ cacheMode: value ?? "off" })}
        error={problems["cache.mode"]}
      />
      {draft.cacheMode !== "off" && (
        <>
          <NumberInput
            label="Maximum age (minutes)"
            min={1}
            max={43_200}
            value={draft.cacheMinutes}
            onChange={(value) => onChange({ cacheMinutes: value === "" ? "" : Number(value) })}
            error={problems["cache.ttl_seconds"]}
          />
          <Switch
            label="Share with other keys in this workspace"
            description="Keys that share the cache also receive responses that were created for the other keys"
            checked={draft.cacheShared}
            onChange={(event) => onChange({ cacheShared: event.currentTarget.checked })}
          />
        </>
      )}
    </>
  );
}

function MoreFields({ draft, onChange, problems }: Props) {
  return (
    <>
      <Group align="flex-end" grow>
        <Select
          label="Expires"
          data={[
            { value: "none", label: "Never" },
            { value: "30", label: "In 30 days" },
            { value: "90", label: "In 90 days" },
            { value: "365", label: "In 365 days" },
            { value: "date", label: "On a date" },
          ]}
          allowDeselect={false}
          value={draft.expiry}
          onChange={(value) => onChange({ expiry: value ?? "none" })}
          error={problems["expires_at"]}
        />
        {draft.expiry === "date" && (
          <TextInput
            type="date"
            label="Date"
            required
            value={draft.expiryDate}
            onChange={(event) => onChange({ expiryDate: event.currentTarget.value })}
          />
        )}
      </Group>
      <div>
        <Text size="sm" fw={500} mb={4} id="log-bodies">
          Store prompts and responses
        </Text>
        <SegmentedControl
          aria-labelledby="log-bodies"
          size="xs"
          data={[
            { value: "inherit", label: "Workspace default" },
            { value: "on", label: "On" },
            { value: "off", label: "Off" },
          ]}
          value={draft.logBodies}
          onChange={(value) => onChange({ logBodies: value })}
        />
      </div>
      <TagsInput
        label="Tags"
        description="Added to every request made with this key. Format: name=value"
        value={draft.tags}
        onChange={(value) => onChange({ tags: value.filter((tag) => /^[^=]+=/.test(tag)) })}
        error={problems["tags"]}
      />
      <Switch
        label="OpenAI error format"
        description="Returns errors as OpenAI does, for clients that cannot parse Fairlead’s error format"
        checked={draft.errorFormat === "openai"}
        onChange={(event) => onChange({ errorFormat: event.currentTarget.checked ? "openai" : "" })}
      />
    </>
  );
}
