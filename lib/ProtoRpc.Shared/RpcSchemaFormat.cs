namespace ProtoRpc;

/// <summary>How a schema is written to files.</summary>
public enum RpcSchemaFormat
{
    /// <summary>One binary FileDescriptorSet that holds every import.</summary>
    DescriptorSet = 0,

    /// <summary>.proto files, under one folder.</summary>
    Proto = 1,
}
