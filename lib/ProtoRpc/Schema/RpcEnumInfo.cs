namespace ProtoRpc.Schema;

/// <summary>An enum type.</summary>
public sealed class RpcEnumInfo
{
    /// <summary>The name without package.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The full name.</summary>
    public string FullName => throw new NotImplementedException();

    /// <summary>Whether numbers that it does not declare are refused (proto2, enum_type = CLOSED).</summary>
    public bool IsClosed => throw new NotImplementedException();

    /// <summary>Names and numbers in declared order; aliases included.</summary>
    public IReadOnlyList<KeyValuePair<string, int>> Values => throw new NotImplementedException();

    /// <summary>The number of a name, compared exactly and then without regard to case.</summary>
    public bool TryGetNumber(string name, out int number) => throw new NotImplementedException();

    /// <summary>The first declared name of a number, or null.</summary>
    public string? FindName(int number) => throw new NotImplementedException();

    /// <summary>The comment before the enum, or empty.</summary>
    public string Comment => throw new NotImplementedException();
}
