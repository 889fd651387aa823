namespace ProtoRpc.Tool.Verbs;

/// <summary>Makes the replies of <c>protorpc listen</c>.</summary>
internal interface ICannedReply
{
    DynamicMessage To(RpcMethodInfo method, DynamicMessage request);
}
