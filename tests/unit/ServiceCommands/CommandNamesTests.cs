using System.Diagnostics;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc.Tests.ServiceCommands;

public static class CommandNamesTests
{
    [Theory]
    [InlineData("GetOrder", "Get-ShopOrder")]
    [InlineData("CreateCustomer", "New-ShopCustomer")]
    [InlineData("ListOrders", "Get-ShopOrders")]
    [InlineData("get_order_items", "Get-ShopOrderItems")]
    [InlineData("deleteOrder", "Remove-ShopOrder")]
    [InlineData("GETOrder", "Get-ShopOrder")]
    [InlineData("GetHTTPStatus", "Get-ShopHTTPStatus")]
    [InlineData("ConvertToPdf", "ConvertTo-ShopPdf")]
    [InlineData("BulkLoadOrders", "Import-ShopOrders")]
    [InlineData("Search", "Search-Shop")]
    [InlineData("SayHello", "Invoke-ShopSayHello")]
    [InlineData("Getters", "Invoke-ShopGetters")]
    [InlineData("Get2", "Invoke-ShopGet2")]
    [InlineData("__", "Invoke-ShopMethod")]
    public static void Makes_verb_and_noun_of_a_method(string method, string name) =>
        Assert.Equal([name], NamesOf("Shop", method));

    [Theory]
    [InlineData("GetOrder", "Get-Order")]
    [InlineData("Search", "Search-Orders")]
    [InlineData("SayHello", "Invoke-SayHello")]
    public static void Needs_no_prefix(string method, string name) =>
        Assert.Equal([name], NamesOf("", method));

    [Fact]
    public static void Calls_both_methods_with_one_name_by_their_own() => Assert.Equal(
        ["Invoke-GetOrder", "Invoke-FetchOrder", "Get-Customer"],
        NamesOf("", "GetOrder", "FetchOrder", "GetCustomer"));

    [Fact]
    public static void Adds_the_service_where_the_methods_have_one_name()
    {
        RpcSchema schema = CommandSchema.Of(
            CommandSchema.ServiceOf("Orders", "Get", "Count")
            + CommandSchema.ServiceOf("Customers", "Get", "Count"));

        Assert.Equal(
            ["Get-Orders", "Invoke-OrdersCount", "Get-Customers", "Invoke-CustomersCount"],
            ServicePlan.Create(schema, [], "").Commands.Select(command => command.Name));
        Assert.Equal(
            ["Invoke-XOrdersGet", "Invoke-XOrdersCount", "Invoke-XCustomersGet", "Invoke-XCustomersCount"],
            ServicePlan.Create(schema, [], "X").Commands.Select(command => command.Name));
    }

    [Fact]
    public static void Numbers_methods_that_differ_by_case_alone()
    {
        string[] names = NamesOf("", "GetOrder", "Getorder", "GETORDER", "get_order");

        Assert.Equal(4, names.Distinct(StringComparer.OrdinalIgnoreCase).Count());
        Assert.Equal(names, NamesOf("", "GetOrder", "Getorder", "GETORDER", "get_order"));
    }

    [Fact]
    public static void Cuts_long_names_and_keeps_them_apart()
    {
        string longName = $"GetA{new string('a', 3000)}";

        Assert.Equal(
            [$"Get-ShopA{new string('a', 191)}", "Get-ShopOrder"],
            NamesOf("Shop", longName, "GetOrder"));
        string[] names = NamesOf("Shop", longName + "1", longName + "2", longName + "3");
        Assert.Equal(3, names.Distinct(StringComparer.OrdinalIgnoreCase).Count());
        Assert.All(names, name => Assert.InRange(name.Length, 200, 210));
    }

    [Fact]
    public static void Leaves_names_that_are_taken() => Assert.Equal(
        ["Invoke-ShopConnect"],
        CommandNames.Create(MethodsOf("Connect"), "Shop", "Connect-Shop"));

    [Fact]
    public static void Names_ten_thousand_methods_of_one_name_in_little_time()
    {
        // Identifiers with other underscores, so that all are the same in Pascal case.
        IEnumerable<string> methods =
            from first in Enumerable.Range(1, 100)
            from second in Enumerable.Range(1, 100)
            select $"Get{new string('_', first)}A{new string('_', second)}B";
        RpcSchema schema = CommandSchema.WithMethods([.. methods]);
        Stopwatch watch = Stopwatch.StartNew();

        ServicePlan plan = ServicePlan.Create(schema, [], "");

        Assert.Equal(
            plan.Commands.Count,
            plan.Commands.Select(command => command.Name).Distinct(StringComparer.OrdinalIgnoreCase).Count());
        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(10), $"It took {watch.Elapsed}.");
    }

    private static string[] NamesOf(string prefix, params string[] methods) =>
        [.. CommandNames.Create(MethodsOf(methods), prefix)];

    private static IReadOnlyList<RpcMethodInfo> MethodsOf(params string[] methods) =>
        CommandSchema.WithMethods(methods).Services.Single(service => service.Name == "Orders").Methods;
}
