import { Link } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

import type { Destination } from "../lib/search";

type Props = Destination &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { ref?: Ref<HTMLAnchorElement> };

/** A link to a dashboard page, for Mantine components: <Anchor component={PageLink} to="/requests">. */
export function PageLink({ to, search, params, ...rest }: Props) {
  // Routes are created from a list, so the router has no parameter types for the pages.
  return <Link to={to} search={search as never} params={params as never} {...rest} />;
}
