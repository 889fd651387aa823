namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>The service of shop.proto, whose purchases wait for the gate.</summary>
public sealed class SlowShop(SlowGate gate)
{
    public DynamicMessage Look(DynamicMessage request) => request;

    public async Task<DynamicMessage> BuyAsync(DynamicMessage request, CancellationToken cancellationToken)
    {
        gate.Begun.TrySetResult();
        await gate.Go.Task.WaitAsync(cancellationToken);
        return request;
    }
}
