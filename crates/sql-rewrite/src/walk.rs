//! Walks over syntax trees.
//!
//! The parser's own walk is generic: the compiler would make a walk over all the tree's types for
//! each visitor and closure. Here the visitor is behind a pointer, so the walk is compiled once for
//! each type of result.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, Query, Select, Statement,
    TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// Shows a part of a tree to a visitor.
pub(crate) fn visit<B>(part: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    part.visit(&mut Erased(visitor))
}

/// Shows a part of a tree to a visitor, which may change it.
pub(crate) fn visit_mut<B>(
    part: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    part.visit(&mut ErasedMut(visitor))
}

/// Calls a function with each expression, outer ones first.
pub(crate) fn expressions<B>(
    part: &impl Visit,
    function: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit(part, &mut Expressions(function))
}

/// Calls a function with the name of each relation.
pub(crate) fn relations<B>(
    part: &impl Visit,
    function: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit(part, &mut Relations(function))
}

/// Calls a function with the name of each relation, which it may change.
pub(crate) fn relations_mut<B>(
    part: &mut impl VisitMut,
    function: impl FnMut(&mut ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_mut(part, &mut Relations(function))
}

struct Expressions<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<B> {
        self.0(expression)
    }
}

struct Relations<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
        self.0(name)
    }
}

impl<B, F: FnMut(&mut ObjectName) -> ControlFlow<B>> VisitorMut for Relations<F> {
    type Break = B;

    fn post_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<B> {
        self.0(name)
    }
}

struct Erased<'v, B>(&'v mut dyn Visitor<Break = B>);

struct ErasedMut<'v, B>(&'v mut dyn VisitorMut<Break = B>);

/// Calls a macro with every method of a visitor; [`Visitor`] and [`VisitorMut`] have the same ones.
/// A method that a later version of the parser adds has to be added here to be called.
macro_rules! with_methods {
    ($then:ident) => {
        $then! {
            pre_visit_query Query,
            post_visit_query Query,
            pre_visit_select Select,
            post_visit_select Select,
            pre_visit_relation ObjectName,
            post_visit_relation ObjectName,
            pre_visit_table_factor TableFactor,
            post_visit_table_factor TableFactor,
            pre_visit_expr Expr,
            post_visit_expr Expr,
            pre_visit_statement Statement,
            post_visit_statement Statement,
            pre_visit_value ValueWithSpan,
            post_visit_value ValueWithSpan,
            pre_visit_ident Ident,
            post_visit_ident Ident,
            pre_visit_order_by OrderBy,
            post_visit_order_by OrderBy,
            pre_visit_order_by_expr OrderByExpr,
            post_visit_order_by_expr OrderByExpr,
            pre_visit_group_by GroupByExpr,
            post_visit_group_by GroupByExpr,
        }
    };
}

macro_rules! pass_on {
    ($($method:ident $node:ty,)+) => {
        impl<B> Visitor for Erased<'_, B> {
            type Break = B;

            $(fn $method(&mut self, node: &$node) -> ControlFlow<B> {
                self.0.$method(node)
            })+
        }
    };
}

macro_rules! pass_on_mut {
    ($($method:ident $node:ty,)+) => {
        impl<B> VisitorMut for ErasedMut<'_, B> {
            type Break = B;

            $(fn $method(&mut self, node: &mut $node) -> ControlFlow<B> {
                self.0.$method(node)
            })+
        }
    };
}

with_methods!(pass_on);
with_methods!(pass_on_mut);
