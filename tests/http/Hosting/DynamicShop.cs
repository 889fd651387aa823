namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>The service of shop.proto, without generated code.</summary>
public sealed class DynamicShop
{
    public DynamicMessage Look(DynamicMessage request) => request;

    public ValueTask<DynamicMessage> Buy(DynamicMessage request)
    {
        RpcFieldInfo name = request.Type.FindField("name")!;
        DynamicMessage reply = new(request.Type);
        reply.Set(name, $"{request.Get(name)} sold");
        return new(reply);
    }
}
