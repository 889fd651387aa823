namespace ProtoRpc;

/// <summary>The kind of users that a change of a schema breaks. No category includes another.</summary>
[Flags]
public enum RpcBreakingCategory
{
    /// <summary>Nothing.</summary>
    None = 0,

    /// <summary>Calls with binary messages: native, gRPC, gRPC-Web and Connect.</summary>
    Wire = 1,

    /// <summary>Calls with JSON, and the routes of REST.</summary>
    Json = 2,

    /// <summary>Code that is generated from the schema, and scripts that name its fields.</summary>
    Source = 4,

    /// <summary>Only code that is generated for each file, such as in Python and C++.</summary>
    File = 8,
}
