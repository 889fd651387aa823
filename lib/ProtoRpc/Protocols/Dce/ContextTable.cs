namespace ProtoRpc.Protocols.Dce;

/// <summary>The presentation contexts that a server accepted on one association.</summary>
internal sealed class ContextTable
{
    // Calls may be orphaned here without closing the connection; one security context is enough for it.
    private const ushort KeepConnectionOnOrphan = 0x02;

    private readonly int _maxContexts;
    private readonly Func<Guid, bool> _isServed;
    private readonly List<(ushort Id, Guid Interface)> _contexts = [];

    /// <param name="maxContexts">How many are accepted.</param>
    /// <param name="isServed">Whether an interface, version 1.0, is served here.</param>
    public ContextTable(int maxContexts, Func<Guid, bool> isServed)
    {
        _maxContexts = maxContexts;
        _isServed = isServed;
    }

    /// <summary>The interfaces that a bind proposes and that are served here.</summary>
    public Guid[] FindServed(BindPdu bind) =>
        [.. bind.Contexts.Select(context => context.Interface.Id).Where(_isServed)];

    /// <summary>Decides on each proposed context, in order.</summary>
    public IReadOnlyList<ContextResult> Decide(BindPdu bind)
    {
        List<ContextResult> results = [];
        foreach (ContextProposal context in bind.Contexts)
        {
            results.Add(Decide(context));
        }

        return results;
    }

    /// <summary>The interface of an accepted context.</summary>
    public bool TryFind(ushort contextId, out Guid interfaceId)
    {
        foreach ((ushort id, Guid known) in _contexts)
        {
            if (id == contextId)
            {
                interfaceId = known;
                return true;
            }
        }

        interfaceId = default;
        return false;
    }

    private ContextResult Decide(ContextProposal context)
    {
        if (context.Transfers is [SyntaxId only] && only.IsFeatureNegotiation(out ushort features))
        {
            return ContextResult.Features((ushort)(features & KeepConnectionOnOrphan));
        }

        Guid interfaceId = context.Interface.Id;
        if (context.Interface != SyntaxId.Interface(interfaceId) || !_isServed(interfaceId))
        {
            return ContextResult.Refused(ContextResult.InterfaceNotSupported);
        }

        if (!context.Transfers.Contains(SyntaxId.Ndr))
        {
            return ContextResult.Refused(ContextResult.TransferNotSupported);
        }

        // Binds are not signed: a call for one interface must not run on another because a server in between
        // proposed its context again.
        if (TryFind(context.Id, out Guid known))
        {
            return known == interfaceId
                ? ContextResult.Accepted
                : ContextResult.Refused(ContextResult.NotSpecified);
        }

        if (_contexts.Count >= _maxContexts)
        {
            return ContextResult.Refused(ContextResult.LocalLimit);
        }

        _contexts.Add((context.Id, interfaceId));
        return ContextResult.Accepted;
    }
}
