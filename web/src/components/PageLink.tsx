import { Link } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

import type { Place } from "../lib/search";

type Props = Place & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { ref?: Ref<HTMLAnchorElement> };

/** A link to a page of the dashboard. Give it to Mantine's parts: <Anchor component={PageLink} to="/requests">. */
export function PageLink({ to, search, params, ...rest }: Props) {
  // Pages are a list, so the router cannot know the parameters of each: they are plain text everywhere.
  return <Link to={to} search={search as never} params={params as never} {...rest} />;
}
