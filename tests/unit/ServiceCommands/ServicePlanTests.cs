using System.Diagnostics;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc.Tests.ServiceCommands;

public static class ServicePlanTests
{
    [Theory]
    [InlineData("$(x)")]
    [InlineData("Shop Order")]
    [InlineData("1st")]
    [InlineData("Büro")]
    [InlineData("a-b")]
    [InlineData("x'")]
    public static void Refuses_a_prefix_that_is_no_word(string prefix)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => ServicePlan.Create(CommandSchema.WithMethods("Get"), [], prefix));

        Assert.Equal(RpcErrorIds.InvalidPrefix, error.ErrorId);
    }

    [Fact]
    public static void Names_the_module_by_its_prefix_or_service()
    {
        RpcSchema schema = CommandSchema.WithMethods("Get");

        Assert.Equal("Shop", ServicePlan.Create(schema, [], "Shop").ModuleName);
        Assert.Equal("Orders", ServicePlan.Create(schema, [], "").ModuleName);
    }

    [Fact]
    public static void Chooses_services()
    {
        RpcSchema schema = CommandSchema.Of(
            CommandSchema.ServiceOf("Orders", "GetOrder")
            + CommandSchema.ServiceOf("Customers", "GetCustomer"));

        Assert.Equal(
            ["Get-Customer"],
            ServicePlan.Create(schema, ["shop.Customers"], "").Commands.Select(command => command.Name));
        RpcException error = Assert.Throws<RpcException>(() => ServicePlan.Create(schema, ["Other"], ""));
        Assert.Equal(RpcErrorIds.ServiceNotFound, error.ErrorId);
    }

    [Theory]
    [InlineData("GetOrder", false)]
    [InlineData("ListOrders", false)]
    [InlineData("SearchOrders", false)]
    [InlineData("WatchOrders", false)]
    [InlineData("DeleteOrder", true)]
    [InlineData("SayHello", true)]
    public static void Asks_before_what_may_change_something(string method, bool asks)
    {
        ServicePlan plan = ServicePlan.Create(CommandSchema.WithMethods(method), [], "");

        Assert.Equal(asks, Assert.Single(plan.Commands).CanConfirm);
    }

    [Fact]
    public static void Says_that_there_is_no_method() => Assert.Equal(
        RpcErrorIds.NoMethods,
        Assert.Throws<RpcException>(
            () => ServicePlan.Create(CommandSchema.Of("message M { }"), [], "")).ErrorId);

    [Theory]
    [InlineData("ConvertToSecureString", "", "Invoke-ConvertToSecureString", "ConvertTo-SecureString")]
    [InlineData("GetCredential", "", "Invoke-GetCredential", "Get-Credential")]
    [InlineData("GetAcl", "", "Invoke-GetAcl", "Get-Acl")]
    [InlineData("GetCimInstance", "", "Invoke-GetCimInstance", "Get-CimInstance")]
    [InlineData("GetHost", "PS", "Get-PSHost", null)]
    [InlineData("GetSession", "PS", "Invoke-PSGetSession", "Get-PSSession")]
    [InlineData("GetService", "Rpc", "Invoke-RpcGetService", "Get-RpcService")]
    [InlineData("Command", "", "Invoke-OrdersCommand", "Invoke-Command")]
    public static void Gives_no_command_a_name_of_the_shell(
        string method, string prefix, string name, string? shorter)
    {
        ServicePlan plan = ServicePlan.Create(CommandSchema.WithMethods(method), [], prefix);

        Assert.Equal(name, plan.Commands[0].Name);
        Assert.Equal(shorter is null ? [] : [shorter], plan.Renamed.Select(pair => pair.Shorter));
    }

    [Fact]
    public static void Finds_a_parameter_by_all_names_of_its_field()
    {
        RpcSchema schema = CommandSchema.Of(
            "message M { string page_size = 1; bool verbose = 2; } service S { rpc Get (M) returns (M); }");

        ServiceCommand command = ServicePlan.Create(schema, [], "Shop").Commands[0];

        Assert.Equal("page_size", command.FindParameter("PAGESIZE")!.Field.Name);
        Assert.Equal("page_size", command.FindParameter("page_size")!.Field.Name);
        Assert.Equal("verbose", command.FindParameter("verbose")!.Field.Name);
        Assert.Null(command.FindParameter("other"));
    }

    [Fact]
    public static void Bounds_the_parameters_of_all_commands()
    {
        string fields = string.Concat(Enumerable.Range(1, 900).Select(i => $"string f{i} = {i};"));
        string methods =
            string.Concat(Enumerable.Range(0, 2000).Select(i => $"rpc Get{i}X (M) returns (M);"));
        RpcSchema schema = CommandSchema.Of($"message M {{ {fields} }} service S {{ {methods} }}");
        Stopwatch watch = Stopwatch.StartNew();

        ServicePlan plan = ServicePlan.Create(schema, [], "");

        Assert.Equal(2000, plan.Commands.Count);
        Assert.InRange(plan.Commands.Sum(command => command.Parameters.Count), 1, 50_000);
        Assert.NotEmpty(plan.WithoutParameters);
        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(10), $"It took {watch.Elapsed}.");
    }

    [Fact]
    public static void Takes_a_request_with_very_many_fields_whole()
    {
        string fields = string.Concat(Enumerable.Range(1, 10_000).Select(i => $"string f{i} = {i};"));
        RpcSchema schema = CommandSchema.Of(
            $"message M {{ {fields} }} service S {{ rpc Get (M) returns (M); }}");

        Assert.False(ServicePlan.Create(schema, [], "").Commands[0].HasParameters);
    }

    [Fact]
    public static void Refuses_more_methods_than_a_module_takes() => Assert.Equal(
        RpcErrorIds.TooManyMethods,
        Assert.Throws<RpcException>(() => ServicePlan.Create(
            CommandSchema.WithMethods([.. Enumerable.Range(0, 10_001).Select(i => $"Get{i}")]), [], ""))
            .ErrorId);
}
