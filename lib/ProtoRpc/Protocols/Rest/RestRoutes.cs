namespace ProtoRpc.Protocols.Rest;

/// <summary>Finds the binding of a request by its HTTP method and path.</summary>
/// <remarks>
/// A tree of segments, so that a path is compared with the templates that begin as it does, and not with all.
/// Each node is visited once at most, whatever the path: the time is linear in the templates and in the path.
/// From the left, a literal goes before <c>*</c>, and that before <c>**</c>, as in the routing of
/// ASP.NET Core. A path that ends in a verb is compared first with templates that have it.
/// </remarks>
internal sealed class RestRoutes
{
    private const string Get = "GET";
    private const string Head = "HEAD";

    private readonly Node _root = new();

    /// <summary>The number of bindings.</summary>
    public int Count { get; private set; }

    /// <summary>All bindings.</summary>
    public IReadOnlyList<RestBinding> Bindings { get; private init; } = [];

    /// <summary>Creates the routes of methods.</summary>
    /// <param name="methods">The methods. Methods without rules have no routes.</param>
    /// <param name="problems">Receives a sentence for each rule that cannot be used, and for each route that
    /// two rules declare; the first rule then has the route.</param>
    public static RestRoutes Create(IEnumerable<RpcMethodInfo> methods, ICollection<string> problems)
    {
        List<RestBinding> bindings = [];
        RestRoutes routes = new() { Bindings = bindings };
        foreach (RestBinding binding in methods.SelectMany(method => RestRules.Read(method, problems)))
        {
            if (routes.Add(binding) is { } other)
            {
                string which = other.Method == binding.Method ? "both" : $"of {other.Method.FullName}";
                problems.Add(
                    $"The HTTP rule '{binding}' of {binding.Method.FullName} is ignored: it has the route of "
                    + $"'{other}' {which}. Change one of the two.");
            }
            else
            {
                bindings.Add(binding);
            }
        }

        return routes;
    }

    /// <summary>Finds a route.</summary>
    /// <param name="method">The method of HTTP. HEAD finds the routes of GET.</param>
    /// <param name="path">The path.</param>
    /// <param name="allowed">Receives the HTTP methods that the path supports, if this method is not among
    /// them.</param>
    /// <returns>Null if there is none.</returns>
    public RestMatch? Find(string method, RestPath path, ISet<string> allowed)
    {
        if (Count == 0 || path.HasDots)
        {
            return null;
        }

        if (path.Verb is { Length: > 0 } verb
            && new Search(path.WithoutVerb(), verb, method, allowed).Run(_root) is { } called)
        {
            return called;
        }

        return new Search(path, "", method, allowed).Run(_root);
    }

    private RestBinding? Add(RestBinding binding)
    {
        RestTemplate template = binding.Template;
        int deep = template.Deep < 0 ? template.Segments.Count : template.Deep;
        Node node = _root;
        for (int i = 0; i < deep; i++)
        {
            node = node.Child(template.Segments[i]);
        }

        if (template.Deep >= 0)
        {
            // The segments after ** are stored in a tree that begins at the end of the path.
            node = node.Deep ??= new Node();
            for (int i = template.Segments.Count - 1; i > deep; i--)
            {
                node = node.Child(template.Segments[i]);
            }
        }

        Dictionary<string, Dictionary<string, RestBinding>> leaves =
            node.Leaves ??= new(StringComparer.OrdinalIgnoreCase);
        if (!leaves.TryGetValue(template.Verb ?? "", out Dictionary<string, RestBinding>? methods))
        {
            leaves.Add(template.Verb ?? "", methods = new(StringComparer.Ordinal));
        }

        if (!methods.TryAdd(binding.HttpMethod, binding))
        {
            return methods[binding.HttpMethod];
        }

        Count++;
        return null;
    }

    /// <summary>A node of the tree: the routes that continue after some segments.</summary>
    private sealed class Node
    {
        public Dictionary<string, Node>? Literals { get; private set; }

        public Node? Any { get; private set; }

        /// <summary>The routes after <c>**</c>, from the end of the path.</summary>
        public Node? Deep { get; set; }

        /// <summary>The routes that end here: by verb, then by HTTP method.</summary>
        public Dictionary<string, Dictionary<string, RestBinding>>? Leaves { get; set; }

        public Node Child(RestSegment segment)
        {
            if (segment.Kind == RestSegmentKind.Any)
            {
                return Any ??= new Node();
            }

            Literals ??= new Dictionary<string, Node>(StringComparer.OrdinalIgnoreCase);
            return Literals.TryGetValue(segment.Literal, out Node? child)
                ? child
                : Literals[segment.Literal] = new Node();
        }
    }

    private readonly record struct Search(
        RestPath Path, string Verb, string Method, ISet<string> Allowed)
    {
        public RestMatch? Run(Node root) =>
            Forward(root, 0) is { } binding ? new RestMatch(binding, Path) : null;

        private RestBinding? Forward(Node node, int at)
        {
            if (at == Path.Count)
            {
                if (Leaf(node) is { } here)
                {
                    return here;
                }
            }
            else if (node.Literals?.GetValueOrDefault(Path[at]) is { } literal
                && Forward(literal, at + 1) is { } byLiteral)
            {
                return byLiteral;
            }
            else if (node.Any is { } any && Path[at].Length > 0 && Forward(any, at + 1) is { } byAny)
            {
                return byAny;
            }

            return node.Deep is { } deep ? Backward(deep, at, Path.Count) : null;
        }

        private RestBinding? Backward(Node node, int start, int end) =>
            end > start && node.Literals?.GetValueOrDefault(Path[end - 1]) is { } literal
            && Backward(literal, start, end - 1) is { } found
                ? found
                : Leaf(node);

        private RestBinding? Leaf(Node node)
        {
            if (node.Leaves?.GetValueOrDefault(Verb) is not { } methods)
            {
                return null;
            }

            if (methods.TryGetValue(Method, out RestBinding? binding)
                || (Method == Head && methods.TryGetValue(Get, out binding))
                || methods.TryGetValue(RestBinding.AnyMethod, out binding))
            {
                return binding;
            }

            Allowed.UnionWith(methods.Keys);
            if (methods.ContainsKey(Get))
            {
                Allowed.Add(Head);
            }

            return null;
        }
    }
}

/// <summary>The route of a request.</summary>
/// <param name="Binding">The route.</param>
/// <param name="Path">The path of the request, without the verb.</param>
internal sealed record RestMatch(RestBinding Binding, RestPath Path)
{
    /// <summary>The value of a variable of the template, by its index.</summary>
    /// <returns>Null if its percent codes are invalid, or not UTF-8.</returns>
    public string? this[int variable] =>
        Binding.Template.ValueOf(Binding.Template.Variables[variable], Path);
}
