import { expect, expectAccessible, test, useWorld } from "../support/fixtures";

const world = useWorld();

// A gray pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

const question = `Order **4471**, see the picture.

1. first
2. second

\`\`\`python
print("hello")
\`\`\`

| item | price |
|------|-------|
| lamp | 20 |

Hidden\u200b text, <b>HTML</b>, ![x](https://evil.example/a.png)`;

test("a conversation is read from its last turn, with tools, images and invisible characters", async ({ page }) => {
  const { client } = world;
  const body = {
    model: "sim-flagship",
    max_tokens: 16,
    tools: [{ type: "function", function: { name: "get_order", description: "Look up an order", parameters: { type: "object" } } }],
    messages: [
      { role: "system", content: "You are a careful assistant of the shop." },
      { role: "user", content: "Where is my parcel?" },
      { role: "assistant", content: "Which order do you mean?" },
      {
        role: "user",
        content: [
          { type: "text", text: question },
          { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
      { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "get_order", arguments: '{"number":"4471"}' } }] },
      { role: "tool", tool_call_id: "call_1", content: '{"status":"delivered"}' },
    ],
  };
  const { id, status } = await client.send({ key: await client.key("reader"), body });
  expect(status).toBe(200);
  await client.logged(id);
  await page.goto(`${world.gateway.url}/requests/${id}`);

  const panel = page.getByRole("tabpanel", { name: "Conversation" });
  const asked = panel.getByRole("region", { name: "Message 4, user" });
  await expect(asked.locator("strong")).toHaveText("4471");
  await expect(asked.locator("ol li")).toHaveText(["first", "second"]);
  await expect(asked.locator("pre")).toContainText('print("hello")');
  await expect(asked.getByRole("cell", { name: "lamp" })).toBeVisible();
  await expect(asked.locator("mark")).toHaveText("U+200B");
  await expect(asked).toContainText("<b>HTML</b>");
  await expect(asked).toContainText("[image: x]");
  await expect(asked.getByRole("img")).toHaveCount(1); // the picture in the message itself
  await expect(panel.getByText("1 invisible character marked")).toBeVisible();

  const call = panel.getByRole("region", { name: "Message 5, assistant" });
  await expect(call).toContainText("Tool call: get_order");
  await expect(call).toContainText('"status": "delivered"');
  await expect(panel.getByText("Where is my parcel?")).toHaveCount(0);
  await panel.getByRole("button", { name: "Show 2 earlier messages" }).click();
  await expect(panel.getByText("Where is my parcel?")).toBeVisible();
  await panel.getByRole("button", { name: /^System/ }).click();
  await expect(panel.getByRole("region", { name: "Message 1, system" })).toBeVisible();
  await panel.getByRole("button", { name: /^1 tool/ }).click();
  await expect(panel.getByRole("button", { name: /^get_order/ })).toBeVisible();
  await expectAccessible(page);

  await panel.getByText("Plain text").click();
  await expect(asked).toContainText("**4471**");
  await panel.getByRole("textbox", { name: "Find in messages" }).fill("careful");
  await expect(panel.locator("mark", { hasText: "careful" })).toHaveCount(1);
  await page.evaluate(() => scrollTo(0, 0));
  await panel.getByRole("button", { name: "Jump to end" }).click();
  await expect(panel.getByRole("region", { name: "Message 7, assistant" })).toBeInViewport();

  await page.getByRole("tab", { name: "Why" }).click();
  await expect(page).toHaveURL(/tab=why/);
  await page.reload();
  await expect(page.getByRole("tab", { name: "Why" })).toHaveAttribute("aria-selected", "true");
});
